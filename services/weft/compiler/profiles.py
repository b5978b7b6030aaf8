"""Every tuned constant of the compile, with its evidence, and how each phase of the agent's loop
looks at a session. All were tuned on half of the sessions of each kind."""

from __future__ import annotations

import msgspec

from weft_schemas.policy import Phase

PASSAGE_TOKENS = 150
"""About so many tokens has a passage of a long item."""
LABEL = 4
"""Tokens that an item costs beside its text."""
BESIDE = {1: 0.25, 2: 0.16, 3: 0.08}
"""Share of a match's relevance that items at this distance get: an answer stands beside its
question. Tuned on three LoCoMo conversations; two others confirm it."""
SELF_CONTAINED = 50
"""Tokens up to which a turn is read with its neighbours; one of twice the length gets half of their
share: a long message says itself what it is about. On BEAM's tuned half it finds .60 of what a
question rests on at 4,000 tokens, against .55 with whole shares; LoCoMo stays as it is."""
MATCHES_LEAST = 12
"""Matches that are looked at however few items the budget holds."""
MATCHES_WEIGHED = 2
"""Times as many are found where `OWN_WORDS` weighs them: an agent's long messages hold most of the
passages, and kept what users said from being looked at. On BEAM's tuned half .515 / .684 / .777 of
what a question rests on is shown at 2,000 / 4,000 / 8,000 tokens, against .499 / .608 / .715."""
POSTINGS_MOST = 16_000
"""Postings that a search reads at most: some 4 ms. With half as many, which long queries soon use
up, recall of tau2_banking's documents is .03 to .04 less, with twice as many hardly more."""
FEEDBACK_PASSAGES = 10
"""Best matches whose common terms search again, where the query has"""
LONG_QUERY = 32
"""no more terms than this: a long one says itself what it is about, most often what it repeats."""
FEEDBACK_POSTINGS = 400
"""Postings that the second search reads: its rare terms tell most."""
PINNED_POLICIES = 8
"""Newest policy items that are always looked at."""


class Retrieval(msgspec.Struct, frozen=True):
    """Which items are looked at."""

    newest: int
    """Newest items that are always looked at."""
    recent: float
    """Budgets that the newest ones fill, whole."""
    matches: float
    """Matches per item that the budget would hold whole."""
    near: float
    """Matches and their neighbours, the most relevant, per item that it would hold, and"""
    near_least: int = 8
    """so many more."""
    feedback: float = 0.0
    """Weight of what a second search for the best matches' common terms finds; 0: no search."""
    per_term: int = 0
    """Postings that a search reads for each term, where that is more than `MAX_POSTINGS` in all: a
    long query's terms are common ones, most of which would be left unread."""


class Emphasis(msgspec.Struct, frozen=True):
    """How a phase weighs relevance against recency."""

    relevance: float
    recency: float
    half_life: float
    """Groups after which recency has halved."""
    tie: float = 0.3
    """Exponent of a kind's weight: enough to win a tie against an item a little newer, too little
    to beat better evidence."""
    exchange: float = 0.0
    """Extra for what came after the latest user turn."""
    newest: float = 0.0
    """Extra for the newest call and its results."""
    user: float = 1.0
    """Factor for user turns: they are short, and nothing else says what users want."""
    cues: bool = False
    """Whether the surface of what is said counts. A step that copies values gains nothing by it:
    on tau-bench and LiveMCPBench it moves one value in 600, either way."""


class Objective(msgspec.Struct, frozen=True):
    """What the selection of a phase maximises."""

    values: float
    """Worth of a new value, against 1.0 of any part; 0: text alone counts."""
    cheap: float
    """Exponent of the cost: 1.0 takes the best value per token, 0.0 ignores length."""


class Profile(msgspec.Struct, frozen=True):
    """The tuned constants of one phase."""

    retrieval: Retrieval
    emphasis: Emphasis
    objective: Objective
    unasked: Emphasis | None = None
    """The emphasis without a query, if it differs."""
    repeats: bool = True
    """The header states a fact of this session also where the item that taught it can be shown, and
    not all items fit. Copied values are looked for in the items, so there it takes their room."""


PROFILES = {
    # What is asked now, and which tools the session has used.
    Phase.ROUTE: Profile(
        Retrieval(newest=20, recent=1.5, matches=0.5, near=0.5, near_least=4),
        Emphasis(relevance=0.5, recency=1.0, half_life=4.0, exchange=0.3),
        Objective(values=2.0, cheap=1.0),
    ),
    # Values to copy: identifiers first, each once.
    Phase.CALL: Profile(
        Retrieval(newest=48, recent=1.5, matches=0.5, near=0.75),
        Emphasis(relevance=2.0, recency=1.0, half_life=10.0, tie=1.0, user=2.0),
        Objective(values=10.0, cheap=1.0),
        repeats=False,
    ),
    # The result just received, nearly whole, and what led to it.
    Phase.INTERPRET: Profile(
        Retrieval(newest=20, recent=1.5, matches=0.5, near=0.5, near_least=4),
        Emphasis(relevance=0.5, recency=1.0, half_life=3.0, exchange=0.3, newest=4.0),
        Objective(values=2.0, cheap=0.7),
    ),
    # Whole turns that answer the query; without one, the latest exchange.
    Phase.ANSWER: Profile(
        Retrieval(
            newest=32, recent=1.0, matches=6.0, near=6.0, near_least=40, feedback=0.15, per_term=200
        ),
        Emphasis(relevance=1.0, recency=0.1, half_life=4.0, tie=0.05, exchange=0.5, cues=True),
        Objective(values=0.0, cheap=0.15),
        unasked=Emphasis(relevance=0.5, recency=1.0, half_life=6.0, exchange=0.5),
    ),
}

EXCHANGE_SHARE = 0.5
"""Most of a budget that the results since the latest user turn take before older items get any
(promise 8 of faithful prompts)."""
CUT_SHARE = 0.6
"""Of what is left of that, how much a result gets that does not fit whole: older ones that do are
shown, too."""
TOLD_SHARE = 0.15
"""Most of a budget that is spent beside it on telling which other calls were made."""
PINS_SHARE, PINS_ALONE = 0.5, 0.7
"""Most of a budget that pinned items take whole, and policies beside them (promise 7): with results
since the latest user turn or a query, and without, where a plan is what "yes" answers."""

DENSITY = 0.3
"""Tokens per character where an item's own is not known."""
GROUP, CALL = 5.0, 20.0
"""Tokens that showing an item, and a call with its result, cost beside their text: labels, ids and
fence counted."""
MARKS = 7.0
"""Tokens of the marks in an item that is shown in parts."""
OPENING = 2.0
"""Tokens by which a group's first part counts as dearer in the order (less than it really costs:
several items with a value each ground more than one with many)."""
OVERSHOOT = 5.0
"""Parts are put in order until they fill this many budgets by estimate: the fit is exact."""
OFFERED = 2.0
"""Budgets of one item's text that are offered, its best passages first."""
PASSAGE_FLOOR = 0.3
"""Share of its item's score that a part has whose passage does not answer the question."""
ANSWERING = 0.7
"""What a part of a result or a document gains that says most of what is asked, as a share of its
score. On the tuned half of tau2_banking recall at 2,000 tokens is .24 with it, .19 without;
messages are left out, which say one thing in many sentences (BEAM loses .10 by it)."""
FIRST_PART = 0.2
"""What the first part of an item is worth more than one that answers nothing."""

NOTHING_SAID = 0.01
"""Factor for fields that say nothing by themselves, as `null` does: cheap as they are, they would
come before what a record says. No value of the panel hangs on it; readers do not wonder at them.
"""

CLOSE = 0.985
"""Share of the budget from which a fit is good enough."""
GUESSES = 4
"""Guesses by proportion before bisection takes over."""
FILLS = 24
"""Later additions that are tried in what is left."""
LEAST_ROOM = 8
"""Tokens: in less, nothing fits."""
LEAST_PIN = 24
"""Tokens that a shortened pin gets at least: in fewer it says nothing."""
SITUATION = 4
"""Newest items whose calls replace a missing query."""
SITUATION_TEXT = 600
"""Characters read of each."""
COHERENT = 250
"""Tokens up to which an item is about one thing: its other parts are worth nearly as much as the
one that answers, those of an item of twice the length half as much."""

STAYS = tuple(step / 10 for step in range(10, 0, -1))
"""Shares of a stable prompt's base that may stay; what is behind them is replaced."""
PRICE, MOST_PRICE = 400.0, 0.5
"""What sending a whole budget anew costs, as a share of all that is wanted: so much by the budget's
tokens, since in a small one each new item displaces more, and at most. Tuned with the constants
below for prompts of which over three quarters repeat the one before."""
OF_HALF = 5.0
"""How much more a value is wanted that a compile afresh with half of the budget states: of what a
next call copies it holds nine tenths."""
PRESENCE = 0.05
"""What it counts that an item is there at all, against a value of weight 1."""
USED, USED_CALLS = 4.0, 3
"""Factor for values that one of the last so many calls used: on the tuned half .05 to .30 of these
are copied by the next, of those used longer ago .01 to .07."""

AFTER_QUESTION = 0.5
"""Share of a match's relevance for the item right after it, where it asks. Tuned, as the constants
below, on three LoCoMo conversations; two others confirm them."""
DAY = 0.1
"""Most that the best matches of its day add to an item."""
DAY_MATCHES = 3
SPOKEN_BY = 2.2
"""Factor for items whose author the query names, where it names one author."""
AT_TIME = 1.0
"""What an item gains, as a share of its relevance, that is of a day which the query names. On the
questions of three LoCoMo conversations that name one, recall at 2,000 tokens goes from .90 to .98.
"""
ASKS = 0.9
"""Factor for items that only ask."""
TITLED = 1.0
"""What a document gains, as a share of its relevance, whose title uses the query's words alone. On
half of tau2_banking's tasks, recall at 4,000 tokens goes from .19 to .25, on the others from .20 to
.23; twice as much moves neither."""
LONGEST_TITLE = 160
"""Characters of a first line that may be a title."""
DATED, NAMED, LONG = 0.06, 0.08, 0.05
"""Worth of a year, of a name, of length, in a turn of up to `SELF_CONTAINED` tokens; in longer ones
less. Alike in all, BEAM's tuned half has .484 / .604 / .692 at 2,000 / 4,000 / 8,000 tokens; so,
.499 / .608 / .715. LoCoMo moves by .003 at most."""
LONG_TEXT = 240
"""Characters from which length says no more."""
OWN_WORDS = 0.28
"""Factor for the relevance of what an agent without a name says, against users and tools, whose
words it repeats: of BEAM's questions two thirds rest on users' turns, which are a tenth of the
text. Agents with names are persons of a conversation."""
COUNTED_TO = 1.2
"""Times the room from which a text of about so many tokens cannot fit it."""
