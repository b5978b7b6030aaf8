"""Whether a compile is short work; any other is done in a process of the pool. Estimated before the
work, from counts that the view has.
"""

from __future__ import annotations

import msgspec

from weft.compiler.compile import budget_of
from weft.compiler.rendering.tools import reads_catalog, reads_tools
from weft.readmodel.view import SessionView
from weft_schemas.compile import CompileRequest
from weft_schemas.policy import ContextPolicy

# Measured in process on two cores, 2,000 items of 1 KB: a compile at 2,000 tokens takes 3 to 10 ms.
SHORT_BUDGET = 8_000
"""Tokens. At 32,000 it takes 40 ms, at 128,000 300 ms."""
SHORT_WORDS = 4_000
"""Words of a session that is shown whole at any budget."""
SHORT_ITEMS = 500
"""Items of such a session."""
SHORT_QUERY = 4_000
"""Characters. One of 30,000 takes 120 ms."""
RECENT = 64
"""Newest items, which every compile considers."""
SHORT_PASSAGES = 250
"""Passages of the recent items: 64 ordinary ones have up to 150. One result of 250 KB has 300 to
400, and choosing among its parts takes 30 ms."""
SHORT_TOOLS = 64 * 1024
"""Bytes of the tools on offer: some 130 take 3 ms. 1,000 take 20 ms, a schema of 500 KB 150 ms and
a catalogue of 20,000 600 ms."""
SHORT_BASE = 64 * 1024
"""Bytes of the record of an earlier pack: some 300 items."""

SHORT_RULES = 16
"""Of a request's own policy. Each glob takes about a millisecond to compile, 17 at most."""


def is_short(view: SessionView, request: CompileRequest, policy: ContextPolicy, base: int) -> bool:
    """`base` is the size of the earlier pack's record in bytes."""
    if len(request.query) > SHORT_QUERY or base > SHORT_BASE:
        return False
    if _tools_size(view, request) > SHORT_TOOLS:
        return False
    is_little = view.words <= SHORT_WORDS and view.item_count() <= SHORT_ITEMS
    if budget_of(request, policy) > SHORT_BUDGET and not is_little:
        return False
    return view.has_few_passages(RECENT, SHORT_PASSAGES)


def is_judged_here(request: CompileRequest) -> bool:
    """Whether the request's own policy can be checked quickly: each of its globs is compiled and
    compared with every other."""
    if request.policy is None:
        return True
    rules = request.policy.firewall
    return len(rules.tools) + len(rules.actions or ()) <= SHORT_RULES


def _tools_size(view: SessionView, request: CompileRequest) -> int:
    """Bytes of tools that are read."""
    if not reads_tools(request):
        return 0
    tools = (request.tools, request.cards, request.hydration)
    size = sum(
        len(msgspec.json.encode(one)) for one in tools if not isinstance(one, msgspec.UnsetType)
    )
    return size + (view.catalog_size(request.catalog or "") if reads_catalog(request) else 0)
