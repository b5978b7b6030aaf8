"""How each phase of the agent's loop looks at a session: the constants in which they differ, all
tuned on half of the sessions and confirmed on the other half."""

from __future__ import annotations

import msgspec

from weft.compiler.packing import Wants
from weft.compiler.scoring import Emphasis
from weft_schemas.policy import Phase


class Look(msgspec.Struct, frozen=True):
    emphasis: Emphasis
    wants: Wants
    unasked: Emphasis | None = None
    """Emphasis where no query says what is wanted, if another."""


LOOKS = {
    # What is asked now, and which tools the session has used.
    Phase.ROUTE: Look(
        Emphasis(relevance=0.5, recency=1.0, half_life=4.0, exchange=0.3),
        Wants(atomic=60, values=2.0, cheap=1.0, supply=2.0, supply_least=2000),
    ),
    # Values to copy: identifiers first, each once.
    Phase.CALL: Look(
        Emphasis(relevance=1.2, recency=1.0, half_life=6.0),
        Wants(atomic=10, values=10.0, cheap=1.0, supply=2.0, supply_least=4000),
    ),
    # The result just received, nearly whole, and what led to it.
    Phase.INTERPRET: Look(
        Emphasis(relevance=0.5, recency=1.0, half_life=3.0, exchange=0.3, newest=4.0),
        Wants(atomic=60, values=2.0, cheap=0.7, supply=2.0, supply_least=2000),
    ),
    # Whole turns that answer the query; without one, the latest exchange.
    Phase.ANSWER: Look(
        Emphasis(relevance=1.0, recency=0.1, half_life=4.0, exchange=0.5),
        Wants(atomic=700, values=0.0, cheap=0.3),
        unasked=Emphasis(relevance=0.5, recency=1.0, half_life=6.0, exchange=0.5),
    ),
}
