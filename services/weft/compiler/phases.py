"""How each phase of the agent's loop looks at a session: the constants in which they differ, all
tuned on half of the sessions and confirmed on the other half."""

from __future__ import annotations

import msgspec

from weft.compiler.candidates import Reach
from weft.compiler.packing import Wants
from weft.compiler.scoring import Emphasis
from weft_schemas.policy import Phase


class Look(msgspec.Struct, frozen=True):
    reach: Reach
    emphasis: Emphasis
    wants: Wants
    unasked: Emphasis | None = None
    """Emphasis where no query says what is wanted, if another."""
    current: float = 0.0
    """Most of the budget that the results since the latest user turn take whole, before anything
    else is weighed."""
    repeats: bool = True
    """The header states a fact of this session also where the item that taught it can be shown, and
    not all items fit. Copied values are looked for in the items, so there it takes their room:
    tau-bench grounding at 500 tokens is .89 with it and .91 without."""


LOOKS = {
    # What is asked now, and which tools the session has used.
    Phase.ROUTE: Look(
        Reach(newest=20, recent=2.0, matches=0.5, near=0.5, near_least=4),
        Emphasis(relevance=0.5, recency=1.0, half_life=4.0, exchange=0.3),
        Wants(atomic=60, values=2.0, cheap=1.0, supply=1.25, supply_least=250),
        current=0.3,
    ),
    # Values to copy: identifiers first, each once.
    Phase.CALL: Look(
        Reach(newest=48, recent=1.5, matches=0.5, near=0.75),
        Emphasis(relevance=1.2, recency=1.0, half_life=6.0),
        Wants(atomic=10, values=10.0, cheap=1.0, supply=1.25, supply_least=3000),
        repeats=False,
    ),
    # The result just received, nearly whole, and what led to it.
    Phase.INTERPRET: Look(
        Reach(newest=20, recent=2.0, matches=0.5, near=0.5, near_least=4),
        Emphasis(relevance=0.5, recency=1.0, half_life=3.0, exchange=0.3, newest=4.0),
        Wants(atomic=60, values=2.0, cheap=0.7, supply=1.25, supply_least=250),
        current=0.6,
    ),
    # Whole turns that answer the query; without one, the latest exchange.
    Phase.ANSWER: Look(
        Reach(
            newest=32, recent=0.7, matches=1.5, near=3.0, near_least=40, feedback=0.15, per_term=40
        ),
        Emphasis(relevance=1.0, recency=0.1, half_life=4.0, tie=0.05, exchange=0.5, cues=True),
        Wants(atomic=700, values=0.0, cheap=0.3),
        unasked=Emphasis(relevance=0.5, recency=1.0, half_life=6.0, exchange=0.5),
        current=0.5,
    ),
}
