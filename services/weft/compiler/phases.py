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


LOOKS = {
    # What is asked now, and which tools the session has used.
    Phase.ROUTE: Look(
        Emphasis(relevance=0.5, recency=1.0, half_life=4.0, exchange=0.3),
        Wants(atomic=60, values=2.0, cheap=1.0),
    ),
    # Values to copy: identifiers first, each once.
    Phase.CALL: Look(
        Emphasis(relevance=0.3, recency=1.0, half_life=3.0),
        Wants(atomic=30, values=10.0, cheap=1.0),
    ),
    # The result just received, nearly whole, and what led to it.
    Phase.INTERPRET: Look(
        Emphasis(relevance=0.3, recency=1.0, half_life=3.0, exchange=0.3, newest=4.0),
        Wants(atomic=60, values=2.0, cheap=0.7),
    ),
    # Whole turns that answer the query.
    Phase.ANSWER: Look(
        Emphasis(relevance=1.0, recency=0.1, half_life=4.0, exchange=0.5),
        Wants(atomic=700, values=0.0, cheap=0.3),
    ),
}

UNASKED = 0.2
"""Relevance in a compile without a query: the latest user turn's words only hint."""
