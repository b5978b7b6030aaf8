"""Every tuned constant of the compile, with its evidence, and the profile of each phase of the
agent's loop. All were tuned on half of the sessions of each kind.
"""

from __future__ import annotations

import msgspec

from weft_schemas.policy import Phase

PASSAGE_TOKENS = 150
"""Approximate length of a passage of a long item."""
ITEM_OVERHEAD = 4
"""Tokens that an item costs besides its text."""
NEIGHBOUR_SHARES = {1: 0.25, 2: 0.16, 3: 0.08}
"""Share of a match's relevance that items at this distance get, since an answer is next to its
question. Tuned on three LoCoMo conversations; two others confirm it."""
SELF_CONTAINED = 50
"""Tokens up to which a turn's neighbours get their whole share; at twice the length they get half,
since a long message explains itself. On BEAM's tuned half it finds .60 of the evidence at 4,000
tokens, against .55 with whole shares; LoCoMo does not change."""
MIN_MATCHES = 12
"""Matches that are considered however few items the budget holds."""
MATCHES_WEIGHED = 2
"""Factor for the number of matches if `OWN_WORDS_FACTOR` weighs them: most passages are in an
agent's long messages, which would crowd out the users'. On BEAM's tuned half .515 / .684 / .777 of
the evidence is shown at 2,000 / 4,000 / 8,000 tokens, against .499 / .608 / .715."""
MAX_POSTINGS_READ = 16_000
"""Most postings that a search reads: some 4 ms. With half as many, recall of tau2_banking's
documents for long queries is .03 to .04 lower; with twice as many it hardly rises."""
FEEDBACK_PASSAGES = 10
"""Best matches whose common terms a second search looks for, if the query has at most `LONG_QUERY`
terms."""
LONG_QUERY = 32
"""Terms of a query; one with more says enough by itself."""
EXPANSION_TERMS = 32
"""Common terms of the best matches; the second search uses the most selective ones of them. With
only the 20 of the greatest weight, recall on LoCoMo at 2,000 tokens is .01 lower."""
FEEDBACK_POSTINGS = 400
"""Postings that the second search reads: its rare terms matter most."""
PINNED_POLICIES = 8
"""Newest policy items, which are always considered."""


class Retrieval(msgspec.Struct, frozen=True):
    """Which items are considered."""

    newest: int
    """Newest items, which are always considered."""
    recent: float
    """The number of budgets that the newest items fill, if shown whole."""
    matches: float
    """Matches per item that the budget holds whole."""
    near: float
    """The most relevant matches and neighbours, per item that the budget holds whole."""
    near_least: int = 8
    """Matches and neighbours in addition, however few items the budget holds."""
    feedback: float = 0.0
    """Weight of the second search for the best matches' common terms; 0 for none."""
    per_term: int = 0
    """Postings that a search reads per term, if that is more than `MAX_POSTINGS` in all: most of a
    long query's terms are common and would not be read."""


class Emphasis(msgspec.Struct, frozen=True):
    """How a phase weighs relevance against recency."""

    relevance: float
    recency: float
    half_life: float
    """Groups after which recency has halved."""
    tie: float = 0.3
    """Exponent of a kind's weight: enough to win against a slightly newer item, too little to beat
    better evidence."""
    current_turn: float = 0.0
    """Extra for items after the latest user turn."""
    newest: float = 0.0
    """Extra for the newest call and its results."""
    user: float = 1.0
    """Factor for user turns: they are short, and nothing else says what users want. To route and to
    interpret, prompts of 36 sessions that nobody tuned for then hold .85 and .84 of them instead of
    .83 and .82, and .002 and .003 more of what the next step needs."""
    plan: float = 8.0
    """Factor for an agent's messages since the latest user turn, if it called tools since then, and
    for those of earlier turns before calls: they say why, and what it is about to do. Readers of 23
    coding and 50 LiveMCPBench prompts stated .94 and .58 of a next call's values with this and with
    `SAID_SHARE`, against .91 and .56. The values on the tuned halves move by .006 at most. After a
    chat's last turn it would cost BEAM .04 of its evidence. With earlier turns, prompts of 28
    sessions that nobody tuned for state .748 of what a step needs instead of .725, of twenty others
    .722 instead of .720, and no value of the panel moves: a plan was left out in favour of records
    of a result. For every message of an earlier turn it is .756, but where the agent asks and the
    user answers, prompts then hold the questions without the answers. So it also holds for what
    ends an earlier turn with calls, if it asks nothing: of what the next step needs in 64 sessions
    that nobody tuned for, prompts state .0016 more, those for an answer .0063, those for a call
    .0007 less. With questions it is .0027 and .0092, but eleven more of 1,075 prompts hold one
    without its answer. No value of tau-bench, LiveMCPBench or the coding sessions moves."""
    cues: bool = False
    """Whether surface signs of a text count. A step that copies values gains nothing by them: on
    tau-bench and LiveMCPBench they move one value in 600, either way."""


MIN_PLAN_TOKENS = 24
"""Tokens of a message of an earlier turn that may be a plan. With shorter ones ("The boundary is
exclusive."), 97 lines of 140 prompts announced a call that was left out; with these, as with no
plans of earlier turns, some 55."""


ANNOUNCEMENT_TOKENS = 12
"""Tokens from which on an agent's message before calls says something without them, as it does with
a number. Of what the next step needs in 64 sessions that nobody tuned for, prompts state the same
with and without shorter ones ("And humidity.") that stand alone; with 24, .0003 less."""


class Objective(msgspec.Struct, frozen=True):
    """What the selection of a phase maximises."""

    values: float
    """Weight of a new value, against 1.0 for any part; 0: only text counts."""
    cheap: float
    """Exponent of the cost: 1.0 maximises value per token, 0.0 ignores length."""


class Profile(msgspec.Struct, frozen=True):
    """The tuned constants of one phase."""

    retrieval: Retrieval
    emphasis: Emphasis
    objective: Objective
    unasked: Emphasis | None = None
    """The emphasis without a query, if it differs."""
    asked_by_user: Emphasis | None = None
    """The emphasis without a query if the user asked something last, if it differs again."""
    repeats: bool = True
    """Whether the header states a fact of this session although its item can be shown, if not all
    items fit. Copied values are looked for in the items, so there it only takes their room."""


PROFILES = {
    # What is asked now, and which tools the session has used.
    Phase.ROUTE: Profile(
        Retrieval(newest=20, recent=1.5, matches=0.5, near=0.5, near_least=4),
        Emphasis(relevance=0.5, recency=1.0, half_life=4.0, current_turn=0.3, user=4.0),
        Objective(values=2.0, cheap=1.0),
    ),
    # Values to copy: identifiers first, each once. What users decided (no bags, the smaller card)
    # holds few values, but a call rests on it: with `user` at 4 to 8 instead of 2, readers of 110
    # tau-bench prompts of 1,000 tokens stated .80 of a next call's values, against .75. It costs
    # .008 of the values that stand in these prompts on the tuned half.
    Phase.CALL: Profile(
        Retrieval(newest=48, recent=1.5, matches=0.5, near=0.75),
        Emphasis(relevance=2.0, recency=1.0, half_life=10.0, tie=1.0, user=4.0),
        Objective(values=10.0, cheap=1.0),
        repeats=False,
    ),
    # The result just received, nearly whole, and what led to it.
    Phase.INTERPRET: Profile(
        Retrieval(newest=20, recent=1.5, matches=0.5, near=0.5, near_least=4),
        Emphasis(relevance=0.5, recency=1.0, half_life=3.0, current_turn=0.3, newest=4.0, user=4.0),
        Objective(values=2.0, cheap=0.7),
    ),
    # Whole turns that answer the query; without one, the latest call, or what the user asked last:
    # of what an answer needs in 48 sessions that nobody tuned for, prompts of all sizes then state
    # .002 more. "And the rug from the other order?" was answered from the calls about the first.
    Phase.ANSWER: Profile(
        Retrieval(
            newest=32, recent=1.0, matches=6.0, near=6.0, near_least=40, feedback=0.15, per_term=200
        ),
        Emphasis(relevance=1.0, recency=0.1, half_life=4.0, tie=0.05, current_turn=0.5, cues=True),
        Objective(values=0.0, cheap=0.15),
        unasked=Emphasis(relevance=0.5, recency=1.0, half_life=6.0, current_turn=0.5),
        asked_by_user=Emphasis(relevance=2.0, recency=0.3, half_life=6.0, current_turn=0.5),
    ),
}

TOOLS_SHARE = 0.5
"""Most of a budget that the block of tools takes."""
REASONING_SHARE = 1 / 3
"""Most of a budget for reasoning that goes back to its provider. Signed reasoning is counted by its
length, which is too high, so that a larger share would seldom be used."""
CURRENT_TURN_SHARE = 0.5
"""Most of a budget that results since the latest user turn get before older items get any (promise
8 of faithful prompts)."""
CUT_SHARE = 0.6
"""Share of the rest for a result that does not fit whole, if there are older ones in the turn:
those that fit are shown, too."""
MIN_SHARE_TOKENS, MAX_CALLS_TOGETHER = 200, 8
"""For calls that were made together and whose newest result does not fit: the least tokens of each
result, and the most such calls, since each is fitted by itself. Otherwise the newest result comes
first. Of what the next step needs in ten sessions that nobody tuned for, prompts for a call of
1,000 and 2,000 tokens state .643 and .823 with shares, .635 and .814 without; in ten others .619
and .863, .611 and .864, for an answer of 1,000 tokens .664 and .655. With shares of any size they
lose .02 at 500 tokens."""
MIN_ALIKE = 2
"""Least number of calls whose results say the same, beside which another one stands out. Two
answers that all is well took the room of the third, which said what was wrong."""
SIBLINGS_SHARE, WITHOUT_SIBLINGS = 0.3, 250
"""Most of a budget, beyond its first 250 tokens, for the results of calls that were made together
with the newest one. Of what the next step needs in 58 sessions that nobody tuned for, prompts for a
call of 1,000 and 2,000 tokens state .625 and .839 with it, .617 and .832 without, for an answer
.644 and .847, and .640 and .842; no value of tau-bench or LiveMCPBench depends on it."""
RESULT_TRIES = 8
"""Older results that are tried in vain after one that was cut. Those that are clearly too large are
not tried: of 3,264 prompts of recorded sessions none shows less than with all of them tried."""
LAST_FETCHED_SHARE, WITHOUT_LAST_FETCHED = 0.5, 250
"""Most of a budget, beyond its first 250 tokens, for complete results that the agent fetched before
the user spoke, if it fetched nothing since: the turn is most often about them. Of what the next
step needs in ten sessions that nobody tuned for, prompts for a call of 1,000 and 2,000 tokens state
.63 and .80 with it, .61 and .76 without; in ten others that confirm it .62 and .86, .60 and .85.
Beyond the first 500 tokens, byte for byte, prompts of 1,000 tokens of five sets state .002 to .025
less. tau-bench's tuned half loses .003 and .001 of its values at 500 and 1,000 tokens; .01 with the
best parts of longer results, or from the first token on. The newest one gets this share of the
whole budget: of two sets of sessions that nobody tuned for, prompts of less than 450 tokens then
state .466 instead of .456, of 1,000 tokens .742 and .821 instead of .735 and .807; tau-bench loses
.001 at 500 and 1,000."""
SAID_SHARE, WITHOUT_SAID = 0.06, 300
"""Most of a budget, beyond its first 300 tokens, for what the agent said last. With a share of the
whole budget, prompts of 500 tokens state .017 less of the next call's values in LiveMCPBench,
instead of .004."""
DIALOGUE = 0.3, 500
"""Most of a budget, beyond its first 500 tokens, for the user's turns with what each of them
answers, newest first, besides those that are pinned. Of what the next step needs in 24 sessions
that nobody tuned for, prompts of 1,000 tokens state .48 without it, .50 with a share of .2 and .52
with .3, of 2,000 .68, .74 and .76. tau-bench keeps its values at 1,000 tokens; with a share at
500, it loses .05."""
CHAT = 0.5, 350
"""The same in a session without calls: no result needs the room, and what was agreed on last, by
whomever it was said, holds. Of what the next step needs in twelve chats in five sets that nobody
tuned for, prompts state .588 with it and .580 with the share of other sessions; the three chats
that nobody had seen before .532 and .539. With .9 these state .503, and three others .719 instead
of .660: some chats need what was said long ago, and some only the latest."""
FAILED_SHARE = 0.5
"""Most of a budget for the call before the newest if it failed: its error line, and as much of the
call as fits. With it tau-bench's confirming half gains .012 of its values at 500 tokens."""
RETRY_SHARE = 0.65
"""Most of a budget for the best parts of the newest call, if it failed and does not fit whole: it
is probably made again. Whole, beside its outcome, it may take all of the budget. Of what the next
step needs in two sets of sessions that nobody tuned for, prompts of 500 tokens state .506 and .623
with both, instead of .503 and .606. With .75, LiveMCPBench loses .002 of its values at 500 tokens,
with all of the budget .003 at 1,000; with .65 it gains .001 at 500 and loses .002 at 2,000, where
the whole text of a page that is written again stands instead of lists of tools."""
MIN_FAILED_TOKENS = 60
"""Tokens that are kept for it even if the newest result could use the whole budget: a model that
does not see that a change failed makes the same change again."""
OTHER_CALLS_SHARE = 0.15
"""Most of a budget that is spent on listing the other calls, each with a line about its result."""
SHORT_CALL, SHORT_SHARE = 160, 0.25
"""Most tokens of a short call with its results, and the most of a budget for listing
more of these. Of twelve payments of one turn, prompts of 1,000 tokens then tell ten instead of six;
no value of the panel depends on it, and of 24 sessions that nobody tuned for one states two facts
fewer at 2,000 tokens. With the calls before the latest turn among them, tau-bench loses .037 of
its values at 500 tokens."""
SHORT_RESULT, SHORT_RESULT_SHARE = 150, 0.25
"""Most tokens of a result of the newest call that is shown with all of its parts, and the most of a
budget: what it says is the newest thing known, and was cut in favour of the call's long arguments.
Of what the next step needs in 92 sessions that nobody tuned for, prompts state the same on average
(.000 to .001), those of 500 tokens of one set .005 more. If a short failure before the newest call
is shown whole, too, and not only from its error on, one set loses .002 at 1,000 tokens."""
PINS_SHARE, PINS_ALONE = 0.5, 0.7
"""Most of a budget for whole pinned items and policies (promise 7): with results since the latest
user turn or a query, and without; then a plan may be what "yes" answers."""
LATEST_SHARE = 0.8
"""Most of a budget up to which the latest user turn is whole beside a little of the other pins, if
there is no query. In sixteen sessions that nobody tuned for, prompts of 300 tokens then state .22
and .18 of what the next step needs, instead of .18 and .17. With .6 it is .18 for both; no value of
the panel depends on it."""
ANSWERING_SHARE, WITHOUT_ANSWERING, ANSWERING_TOKENS = 0.2, 200, 150
"""Most of a budget, beyond its first 200 tokens, for short texts about what was said last, and the
most tokens of one. Of what the next step needs in sixteen sessions that nobody tuned for, prompts
of 1,000 tokens state .697 with it and .683 without; tau-bench's values at 1,000 tokens lose .002.
With fields of JSON lists too they lose .006, which the order by values serves better."""
ANSWERING_MATCHES, RARE_TERM, MIN_ANSWERING_TERMS = 16, 1, 3
"""Best passages among which they are looked for, how many may state a term that tells, and
how many such terms one states at least. With 2 and 2 of the terms of the latest calls, too, two
sets of sessions lose .002 of what the next step needs on average, LiveMCPBench .003 at 1,000."""
NAMED_SHARE, WITHOUT_NAMES, NAMED_CALL = 0.08, 500, 12
"""Most of a budget, beyond its first 500 tokens, for naming the calls that are left out, and the
tokens of one. In two rounds, two readers read 57 prompts of recorded sessions without names, and as
many with them, at 1,000 and 2,500 tokens: of a next call's values they gave .47 and .63, then .57
and .57 on LiveMCPBench, .73 and .82, then .86 and .86 on tau-bench, the same on code. It takes .008
of LiveMCPBench's values at 1,000 tokens; with .06 beyond the first 250, tau-bench's lost .009 at
500. Answers, which no call follows, lose .04 in some sessions, and so do without."""
MAX_LATER = 16
"""Calls of the tool right after a failed one that are compared with it: a bound of work."""
MAX_UNRESOLVED, SAME_WORDS = 3, 0.5
"""Most failed calls, without a later one like them that succeeded, that are named before all
others, and the share of a call's words that such a one has. Steps of 1,000 tokens in sixteen
sessions that nobody tuned for state .691 of what they need, .684 without it, and a tenth of them
.459 and .457. Before an answer they take only what is left of a budget: with room of their own,
answers of 1,000 tokens in twenty sessions lost .014, and choosing twice where a name found no room
takes twice as long."""
ALIKE_SHOWN = 2
"""Newest calls of one tool with the same outcome that are shown before others are named. Of what
the next step needs in sixteen sessions that nobody tuned for, prompts of a fourth of their length
state .735 with it and a `NEXT_SHARE` of .25, .733 without both; in two other sets and on
LiveMCPBench nothing moves by more than .002 on average, tau-bench's values stay. Eight calls that
took 486 of 1,000 tokens take 200, and the next two records are shown in their place."""
MIN_NAMED_CALL = 4
"""Tokens of a short one, such as a file's name after that of another call of the tool."""
MIN_ASKED_TERMS = 3
"""If an unanswered user's turn has at least this many terms, they alone choose among the parts of
results, and relevance counts more for an answer; "yes, do that" leaves the choice to what was said
and done before. In 37 sessions that
nobody tuned for, answers of 500 to 2,000 tokens state .004 more of what they need."""
POLICY_SHARE = 0.2
"""Most of a budget for which a policy that was cut is shown whole, where the current turn leaves
room."""

DENSITY = 0.3
"""Tokens per character, if an item's own are not known."""
GROUP_OVERHEAD, CALL_OVERHEAD = 5.0, 20.0
"""Tokens that an item, and a call with its result, cost besides their text: labels, ids and
fence."""
MARKS_OVERHEAD = 7.0
"""Tokens of the marks in an item that is shown in parts."""
GROUP_OPENING = 2.0
"""Tokens added to the cost of a group's first part in the order. Less than the real cost: several
items with a value each ground more than one item with many."""
ONE_RESULT_SHARE = 0.15
"""Share of the budget after which more parts of one result are worth half, where a phase does not
look for new values: a list of a hundred states took the place of everything else. Of what an answer
needs in 24 sessions that nobody tuned for, prompts of 1,000 tokens state .56 and .53 without it, of
4,000 .92 and .91."""
OVERSHOOT_BUDGETS = 5.0
"""Parts are ordered until their estimated cost fills this many budgets; the fit is exact."""
OFFERED_BUDGETS = 2.0
"""Budgets of one item's text that are offered, its best passages first."""
PASSAGE_FLOOR = 0.3
"""Share of its item's score for a part whose passage does not answer the question."""
ANSWERING_BONUS = 0.7
"""Gain, as a share of its score, of the part of a result or document that covers most of the
question. On the tuned half of tau2_banking recall at 2,000 tokens is .24 with it, .19 without. Not
for messages, which say one thing in many sentences (BEAM loses .10 by it)."""
CALL_TEXT = 400
"""Characters at the beginning of a call that are read for what it is about: a bound of work."""
READ_AGAIN_FACTOR = 0.3
"""Factor for a call that was made again later. In eight sessions that nobody tuned for, three of
twenty prompts then show more of an old state than of the newer one, and six without; no value of
tau-bench or LiveMCPBench depends on it. It also applies to a result, as far as later calls changed
what that shows: of what the next step needs in 64 sessions that nobody tuned for, prompts state
.0009 more with that, those for an answer .0025; no value of the panel moves."""
IDENTITY_FACTOR = 3.0
"""Factor for the fields that say which thing a record is. A reader who sees which records there are
knows what is left out, and can ask for it; without it, details of a few come first. The values of
the tuned halves of tau-bench, LiveMCPBench and the coding sessions move by .006 either way; with
lists in lines LiveMCPBench's confirming half has .810 / .898 at 500 / 1,000 tokens instead of
.806 / .879."""
OUTLIER_FACTOR = 2.0
"""Factor for the records of a list that differ from the others in a field with few values: the one
rule that has a remark, the one cell that failed. No value of the panel depends on it; with 3 or 8
LiveMCPBench loses .002 and .004 at 1,000 tokens."""
BOILERPLATE_FACTOR = 0.2
"""Factor for what stands beside what a page says: its navigation, forms and footers."""
FIRST_PART = 0.2
"""Extra for the first part of an item, against one that answers nothing."""

IDENTIFIER_WEIGHT = 1.0
"""Weight of a word that mixes letters with digits or underscores. The weights of other forms of
values are relative to it."""
CAMEL_WEIGHT = 0.5
"""Letters with a capital inside: a name in code, or a firm. Between .2 and 1 no value of the panel
moves by more than .003."""
DATE_WEIGHT, TIMESTAMP_WEIGHT = 0.8, 0.1
"""A date, or a time on the minute, when something takes place; and another date with a time of day:
when something was written, which a next step seldom copies."""
CAPITALS_WEIGHT = 0.8
"""A few capitals: an airport, a currency, a ticker."""
ADDRESS_WEIGHT = 0.8
"""Paths, URLs, e-mail addresses."""
NUMBER_WEIGHT, DIGIT_WEIGHT, MAX_DIGITS = 0.1, 0.05, 8
"""Weight of a number, what each digit adds to it, and the most digits that add something."""
NAME_WEIGHT = 0.2
"""A capitalised word."""
HYPHENATED_WEIGHT = 0.15
"""Lower-case words joined by hyphens: names of many tools and options, and some prose."""
QUOTED_WEIGHT = 3.0
"""A lower-case word in quotes, such as the allowed values of a parameter. On the tuned half of
LiveMCPBench the next call copies .03 to .08 of those in results, and .01 to .04 of identifiers;
grounding at 1,000 tokens is .977 with it and .962 without."""
FIELD_WEIGHT = 0.15
"""Least weight of a one-word value of a field, whatever it looks like."""
ASKED_FIELD = 6.0
"""Factor for fields that are named like an argument: of earlier calls, or of the chosen tool."""
COPYING_CALLS = 2
"""Newest calls whose values tell which other fields calls ask for: the version of a record, which
they hand on as another argument. With all calls tau-bench loses .007 of its values at 500 tokens;
with two it keeps them, and four of six sets of sessions that nobody tuned for state .0002 to .0005
more of what the next step needs, the others the same."""
STATED_BEFORE = 8.0
"""How much each earlier statement of a value lowers its weight."""

NEXT_ENTRY = 24.0
"""Factor for the parts of the entry that a loop takes next. On tau-bench's tuned half grounding at
1,000 tokens is .945 with a factor of 8 and .922 without. With 24 a list that the loop works through
stands before details of what it has read; LiveMCPBench's tuned half gains .004 at 1,000 tokens and
.002 at 2,000 by that, tau-bench's loses .002 at 1,000."""
NEXT_SHARE = 0.25
"""Most of a budget that such entries take before the other calls of the loop are listed. Of 53
reading cases of tau-bench's other half, .87 of the prompts of 1,000 tokens then state all that the
next call takes, and .81 without; on the tuned half .90 and .88. With whole records of a list, and a
share of .25 instead of .15, a page of orders shows the next one with what it holds; with .15, only
what it is called. Sixteen sessions that nobody tuned for state .681 and .679 of what the next step
needs with whole records and without, two other sets the same."""
NEXT_ENTRY_WINDOW = 400
"""Characters behind an entry in which the next one is expected."""
MAX_COPIED_VALUES = 32
"""Values of a call that may be one of a loop: a call with more writes a text."""
LOOP_SOURCES, LOOK_BACK = 3, 256
"""Items that a call's arguments may come from, at most, and the groups among which they are looked
for."""

MIN_PASS_CALLS, PASS_SHARE = 3, 1 / 3
"""Fewest calls of one tool after each other that are a pass over a list, and the most of a budget
that the next result of a second pass takes: in a smaller one the newest results say more. On
tau-bench's tuned half grounding at 1,000 tokens is .957 with the second pass and .951 without. In
eleven of twelve cases in which a reader of the whole history found the next call and a reader of
the prompt did not, the agent worked through such a list. That plans give the order, and that what
comes next stands before the list of other calls, makes it .966 instead of .954; on the confirming
half .950 instead of .943."""
LATEST_PASSES = 3
"""Latest such passes that are looked at: searches for each thing may come between two."""
PLAN_MESSAGES = 4
"""Latest messages that may say in which order things are acted on: two questions and answers. With
two, tau-bench's tuned half loses .002 at 1,000 tokens."""
MAX_OTHER_CALLS = 3
"""Calls about something else after which no second pass is expected to begin, without a plan."""

FOCUS_BONUS = 1.0
"""Gain, as a share of its score, of a result that states what the newest call and the latest
messages state. Values in place at 500 / 1,000 tokens with it, and without: tau-bench's tuned half
.828 / .954 and .816 / .948, LiveMCPBench's .853 / .942 and .852 / .938; the confirming halves .719
/ .943 and .708 / .940, .806 / .879 and .806 / .881. Coding sessions move by a value or two. Between
.5 and 1.5 nothing moves by more than .005. For the parts alone that state these values, it costs
.03."""
FOCUS_MESSAGES = 2
"""Latest messages that say what is in focus. With one, tau-bench's tuned half loses .009 at 500
tokens; three move nothing there, and cost .005 on LiveMCPBench's confirming half. More calls than
the newest lose .003."""
FOCUS_SHARED = 3
"""Most results that state a value which says what is in focus."""
FOCUS_LOOK_BACK, FOCUS_TEXT = 64, 8_000
"""Groups that are looked at, and characters of each item: 25 ms at most when all are read for the
first time, a fifth of a millisecond then."""
NAMED_VALUE_FACTOR = 2.0
"""Factor for the parts of results that state a value which the newest user turns name ("the Visa
ending in 6437"). Of all 111 steps of tau-bench at 1,000 tokens that readers may get, .86 of the
prompts then state all that the next call takes, against .85; with 4 the same."""
NAMED_TURNS = 4
"""Newest user turns of which values count as named: in the older ones those that no call has taken
yet. Readers missed a card's id most, of which the user had told the last digits before confirming
the plan. Of the facts of 70 sessions that nobody tuned for, prompts state .0013 more than with one
turn; tau-bench's two halves gain .003 and .006 at 1,000 tokens, and lose .006 and .003 at 500. With
the values that calls have taken, they lose .02 at 500."""
NAMED_VALUES = 16
"""Most values that are named and looked for in whole results: a millisecond in 200 KB for those
that it does not state."""
LINK_SHARE, MAX_LINKS = 0.4, 3
"""Most of a budget for the rows of older results that alone state an id which the user named beside
an id of the newest result, and the most such rows. With .25, a few rows of CSV with their header
and call do not fit prompts of 400 tokens. Of what the next step needs in 75 sessions that nobody
tuned for, prompts state .0001 more; no value of tau-bench, LiveMCPBench or the coding sessions
moves. With any names and numbers, and not ids alone, two of four sets lose up to .0005."""
SPOKEN_OF_FACTOR, FEW, FEW_SHARE = 2.0, 3, 0.25
"""Factor for the parts of a list that state a name or value of the latest user turn, the message
that it answers, or the newest call and its results; if at most so many parts of an item do, or this
share. What is stated already counts less as a value, so the very record that a step is about came
last. Of 34 values with what tells which they are, in eight sessions that nobody tuned for, prompts
for an answer of 2,000 tokens hold .44, and .38 without it; tau-bench's tuned half loses .009 of its
values at 500 tokens, the confirming half gains .001."""
GROUPS_AFTER = 2
"""Messages and calls behind a result whose values count as spoken of in it, where a phase looks for
values: the trial that the agent took from a table, of which a later call states the rest. Of 32
values with what tells which they are, in eight sessions that nobody tuned for, prompts for a call
of 4,000 tokens hold .84, and .78 without it; of what the next step needs .87 and .85. An answer
would lose .02 to .10. No value of the panel depends on it."""
MIN_PARTS = 5
"""Least number of an item's parts: with fewer, none is preferred in this way."""
LEFT_ASIDE_FACTOR = 0.25
"""Factor for the records of a list from which later calls took one or a few others: the agent has
looked at them and not taken them. Of what the next step needs in the ten made sessions by which it
was chosen, prompts for a call of 1,000 / 2,000 / 4,000 tokens state .623 / .787 / .946 with it and
with records that are spoken of, and .610 / .764 / .942 without both; for an answer .635 / .861 /
.977, and .621 / .834 / .966. Between .1 and .5 nothing moves by more than .01. No value of
tau-bench's and LiveMCPBench's tuned halves depends on it; a trial for all parts of a result, which
also counted those that are named more, cost tau-bench .05 at 500 tokens."""
POINTED_AT_FACTOR = 8.0
"""Factor for the part of a viewed file with a line at which a failure points; with 4 it is not
always shown. Of 49 facts that the steps of a coding agent need, in a session that nobody tuned for,
prompts for a call of 1,000 / 2,000 tokens hold .59 / .73 with it, and .55 / .67 without; for an
answer .61 / .84, and .57 / .78. In another such session a call gains .02 at 1,000 and loses .05 at
500, an answer loses .07 and .05: the line of a failed test is shown, and the facts are about the
code that it tests. No value of the panel depends on it. With lines that a failure quotes, prompts
of 16 such sessions state .697 instead of .695 of what the next step needs at 1,000 tokens."""
POINTING, POINTING_BEFORE_ANSWER, MAX_POINTED_LINES = 6, 3, 8
"""Newest calls whose failed results point at lines, before a call and before an answer, and most
such lines of one view: with more, they list what it has. An agent mends one of several errors, and
reads a file, before it comes to the next: of what the next step needs in two sets of sessions that
nobody tuned for, prompts then state .0035 and .0003 more than with three calls, in the others the
same. A report of what was done loses .0019 of another set with six."""
WORKED_ON_FACTOR, OLDER_WORK_FACTOR = 32.0, 1 / 8
"""Factor for the part of a viewed file at which the agent works, and how much less each older place
counts. Of 35 lines at which ten coding agents opened a file, wrote, or had searched, prompts for
a call of 700 / 1,000 / 1,500 tokens show 27 / 32 / 35 with it, and 20 / 26 / 30 without: they held
other functions of the file. With a factor of 8, what an edit has written comes last, since the
edit's call states the same. With all places alike, an older edit took the room of the newest. Of
four sets of sessions that nobody tuned for, three do not move, and one loses .001; no value of the
panel depends on it. Before an answer, reports of one session lost four values and gained two."""
WRITTEN_SHARE = 0.45
"""Most of a budget for what the newest edits wrote, if no result shows it. Of what the next step
needs in seven sets of sessions that nobody tuned for, one that was written after the rule's first
form states .023 more with it, two .008 and .0025, one .0006 and one .0004 less, the others the
same; with .33 the first gains .0035 less. Of the steps of six coding agents, whose needs stood only
in arguments of calls, prompts of 1,000 tokens stated .15 and old results cleared .49 before. Ahead
of the line about a call that failed it took the room of that. No value of the panel depends on
it."""
EDIT_CALLS, MAX_EDITS = 10, 2
"""Newest calls among which edits are looked for, and how many edits count."""
NEAR_WORK, NEAR_WORK_SHARE = 120, 0.25
"""Characters, some three lines, within which parts before and behind such a place gain, too, and
their share of its factor. With all of it they take the room of other places: of two lines that a
search had found, one is shown at 1,000 tokens."""
WORKING = 6
"""Newest calls whose places count."""
LINES_ABOVE = 6
"""Lines before a place at which the very newest call failed that belong to it; the factor of their
parts falls to about half of the place's. Of what the next step needs in 92 sessions that nobody
tuned for, prompts of one set state .777 instead of .774 with it, all others the same; four steps
then show the function that is changed next, or the line that is wrong. With the lines above the
places of the three newest calls, two prompts for an answer lose a fact."""
NAMED_HEAD_FACTOR = 4.0
"""Factor for the parts under a head that states such a value: the lines of a function that the user
names. With less, a function of 20 lines in a file of 700 is shown in pieces at 1,000 tokens; no
value of the panel depends on it."""

EMPTY_PART_FACTOR = 0.01
"""Factor for fields without content, such as `null`: they are cheap and would come first. No value
of the panel depends on it, but such prompts puzzle readers."""

GOOD_FIT_SHARE = 0.985
"""A fit that uses at least this share of the budget is good enough."""
GUESSES = 4
"""Guesses by proportion before bisection."""
FILL_TRIES = 24
"""Later additions that are tried in the remaining room."""
FILL_HORIZON = 3.0
"""How far down the order additions may open items in the room that is left: up to the place that a
budget of this many times the size would reach. With additions from anywhere, .19 of the steps to a
budget larger by a fourth to a half drop an item, with these .15. With 2.0 it is .13, but three sets
of sessions that nobody tuned for state .01 to .04 less of what an answer needs at 500 tokens. By
3.0 tau-bench's tuned half loses .002 of its values at 500 tokens, and LiveMCPBench's none."""
MARK_COST = 5
"""Characters by which a left-out text may be longer than its mark and is shown instead: each `…` is
a token by itself. In 36 prompts of LiveMCPBench of 1,000 tokens `… 1 line …` stood 41 times for
`success: true`. LiveMCPBench gains .001 of its values at 1,000 tokens and loses .001 at 500; no
other value of the panel moves, nor what the next step needs in 76 sessions that nobody tuned for.
"""
MIN_ROOM = 8
"""Tokens: in less, nothing fits."""
FILLED_FROM, LEFT_SHARE = 400, 0.01
"""Newest groups of which short ones are shown whole in the room that is left at the end, and the
least share of the budget that is worth it: to count what is sent once more takes a twentieth of a
compile at 128,000 tokens. Of what the next step needs in seven sets of sessions that nobody tuned
for, prompts of 500 tokens state .002 to .003 more with it, and larger ones as much."""
MIN_FILLED_TOKENS = 24
"""Tokens that are filled with parts: to find those that fit into less takes 6 of 100 function calls
of a compile. Of what the next step needs in seven sets of sessions that nobody tuned for, prompts
state as much without them, on average (.0000), and the values of recorded sessions stay."""
MIN_PINS_SHARE, OUTCOME_TRIES = 0.25, 4
"""Least of a budget that pins keep beside the outcome of the newest result, and how often they are
fitted to what it leaves. Of what the next step needs in twenty sessions that nobody tuned for,
prompts of a tenth of their length then state .42 instead of .39; larger ones do not change."""
MIN_PIN_TOKENS = 24
"""Least tokens of a shortened pin; fewer would say nothing."""
SITUATION = 4
"""Newest items whose calls replace a missing query."""
SITUATION_TEXT = 600
"""Characters read of each."""
SITUATION_TURNS, SITUATION_TERMS, TERM_TOKENS = 3, 45, 24
"""The latest turns are read, at most this many, until they have `SITUATION_TERMS` different terms,
or one for every `TERM_TOKENS` tokens of a smaller budget: a small prompt keeps to what was said
last. Of eight sessions that nobody tuned for, prompts of 2,000 and 4,000 tokens state .57 and .84
of what the next step needs; with one turn it is .51 and .71. Values in place on tau-bench and
LiveMCPBench move by .002, either way."""
COHERENT = 250
"""Tokens up to which an item is about one thing: its other parts then count nearly as much as the
one that answers, and half as much at twice the length."""

STAYS = tuple(step / 20 for step in range(20, 0, -1))
"""Shares of a stable prompt's base that may stay; what follows is replaced."""
SHORTER = (0.7, 0.5)
"""Shares of the budget for which what follows is also compiled, to fit behind more of the base."""
MAX_FILLED_HEADS = 4
"""Heads, the most promising, behind which what came since is chosen anew."""
PRICE, MAX_PRICE = 300.0, 0.5
"""The cost of sending a whole budget again, as a share of everything wanted: the first divided by
the budget's tokens, since in a small budget each new item displaces more, and at most the second.
Tuned with the constants around them: on the tuned half prompts of 1,000 and 2,000 tokens repeat .55
and .66 (tau-bench), .46 and .53 (LiveMCPBench) of the one before, and lose .032, .022, .027 and
.013 of what a next call copies from a new compile. With 360 and .6 it is .57 in the mean, against
.55, at the same loss, but what a loop takes next may be missing. What is new at each step takes
.29, .17, .34 and .24 of a new compile: no prompt that shows it could repeat more than the rest."""
OF_HALF = 15.0
"""Factor for values that a new compile with half of the budget would state: they include nine
tenths of what a next call copies. With 5.0, .003 more of these are lost at the same repetition."""
PRESENCE = 0.05
"""Weight of an item's presence, against a value of weight 1."""
RECENTLY_USED_FACTOR, USED_CALLS = 4.0, 3
"""Factor for values that one of this many last calls used: on the tuned half .05 to .30 of these
are copied by the next call, and .01 to .07 of those used earlier."""

AFTER_QUESTION = 0.5
"""Share of a match's relevance for the item right after it, if the match asks. Tuned, as the
constants below, on three LoCoMo conversations; two others confirm them."""
SAME_DAY_BONUS = 0.1
"""Most that the best matches of its day add to an item."""
DAY_MATCHES = 3
AUTHOR_FACTOR = 2.2
"""Factor for items by the author that the query names, if it names one."""
TIME_BONUS = 1.0
"""Gain, as a share of its relevance, of an item from a date that the query names. For the questions
of three LoCoMo conversations that name one, recall at 2,000 tokens rises from .90 to .98."""
DAYS_AFTER, NEAR_AFTER = 7, 0.5
"""For this many days after a day, people still tell what happened on it. The nearness of an item
from these days; that of an item from the day itself is 1."""
NEAR_YEAR = 0.5
"""Nearness of an item from a named year."""
QUESTION_FACTOR = 0.9
"""Factor for items that only ask."""
TITLE_BONUS = 1.0
"""Gain, as a share of its relevance, of a document whose title has only words of the query. Recall
at 4,000 tokens rises from .19 to .25 on half of tau2_banking's tasks, from .20 to .23 on the
others; twice as much changes neither."""
MAX_TITLE_LENGTH = 160
"""Characters of a first line that may be a title."""
DATE_CUE, NAME_CUE, LENGTH_CUE = 0.06, 0.08, 0.05
"""Extra for a year, for a name and for length, in a turn of up to `SELF_CONTAINED` tokens; less in
longer ones. BEAM's tuned half then has .499 / .608 / .715 at 2,000 / 4,000 / 8,000 tokens, against
.484 / .604 / .692 if it is the same in all. LoCoMo moves by .003 at most."""
LONG_TEXT = 240
"""Number of characters above which a longer text gains nothing by its length."""
OWN_WORDS_FACTOR = 0.28
"""Factor for the relevance of an agent's messages, which repeat the words of users and tools: two
thirds of BEAM's questions rest on users' turns, a tenth of the text. Agents with names are not
affected: they are persons of a conversation."""
COUNTED_TO = 1.2
"""A text of more than about this many times the room cannot fit."""
