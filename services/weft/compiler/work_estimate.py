"""Whether a compile is short work, by what it would look at: what is not is done in a process of
the pool. A guess before the work, from counts that the view has anyway.
"""

from __future__ import annotations

from weft.compiler.compile import budget_of
from weft.readmodel.view import View
from weft_schemas.compile import CompileRequest
from weft_schemas.policy import ContextPolicy

# Measured in process on two cores, 2,000 items of 1 KB: a compile at 2,000 tokens takes 3 to 10 ms.
SHORT_BUDGET = 8_000
"""Tokens. At 32,000 it takes 40 ms, at 128,000 300 ms."""
SHORT_WORDS = 4_000
"""Of a session that is shown whole at any budget."""
SHORT_ITEMS = 500
"""The same."""
SHORT_QUERY = 4_000
"""Characters. One of 30,000 takes 120 ms."""
RECENT = 64
"""Newest items that a compile looks at whatever it is asked."""
SHORT_PASSAGES = 600
"""Of them. An item of 900 KB has 1,300, and costs 10 to 20 ms."""
SHORT_BASE = 64 * 1024
"""Bytes of the record of an earlier pack: some 300 items."""


def is_short(view: View, request: CompileRequest, policy: ContextPolicy, base: int) -> bool:
    """`base`: bytes of the record of the pack that the request starts from."""
    if len(request.query) > SHORT_QUERY or base > SHORT_BASE:
        return False
    is_little = view.words <= SHORT_WORDS and view.item_count() <= SHORT_ITEMS
    if budget_of(request, policy) > SHORT_BUDGET and not is_little:
        return False
    return view.has_few_passages(RECENT, SHORT_PASSAGES)
