"""The entries above the items: memory and tools."""

from __future__ import annotations

from collections.abc import Sequence

from weft.compiler.profiles import ITEM_OVERHEAD, PROFILES
from weft.compiler.rendering.counting import Count
from weft.compiler.rendering.memory import frozen_header, is_current, memory_header
from weft.compiler.rendering.tools import tools_entry
from weft.compiler.state import State
from weft.readmodel.rows import ItemRow
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind
from weft_schemas.policy import phase_rule


def entries_above(state: State, rows: Sequence[ItemRow], count: Count) -> tuple[PackEntry, ...]:
    """Memory and tools. The base's memory is kept while it is current and fits the budget. A phase
    that shows no remembered facts has neither those of the base nor others."""
    tools = tools_entry(state.view, state.request, state.budget, count)
    memory = _memory(state, rows, count) if _shows_memory(state) else ()
    return (*memory, *([tools] if tools else []))


def _shows_memory(state: State) -> bool:
    rule, kind = phase_rule(state.policy, state.request.phase), ItemKind.MEMORY_FACT
    return kind in rule.kinds and rule.limits.get(kind) != 0


def _memory(state: State, rows: Sequence[ItemRow], count: Count) -> Sequence[PackEntry]:
    share = state.policy.memory.header_share
    base = state.base if state.prefix.shown else None
    header = frozen_header(state.view, base, state.policy) if base is not None else None
    room = int(state.budget * share)
    if header is not None and not is_current(header, state.view, state.statements):
        header = None
    if header is None or sum(count(one.text + "\n") for one in header) > room:
        repeats = PROFILES[state.request.phase].repeats
        shown_ids = frozenset[str]() if repeats else _shown_ids(state, rows)
        header = memory_header(
            state.view,
            state.question,
            state.policy,
            state.budget,
            count,
            shown_ids,
            state.statements,
        )
    return header


def _shown_ids(state: State, rows: Sequence[ItemRow]) -> frozenset[str]:
    """Ids of the items that may replace facts of the header; none if the budget holds both."""
    tokens = sum(max(row.whole_tokens, 0) + ITEM_OVERHEAD for row in rows)
    has_room = tokens <= state.budget * (1 - state.policy.memory.header_share)
    return frozenset(() if has_room else (row.id for row in rows))
