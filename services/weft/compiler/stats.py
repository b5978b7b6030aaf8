"""The numbers of a pack: what was considered, shown, shortened and dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from weft.compiler.rendering.cost import Costed, Shown
from weft.compiler.rendering.counting import counter
from weft.compiler.renditions.rendition import COMPACT, REDACTED, WHOLE, Rendition
from weft.compiler.selection.choice import Choice
from weft.compiler.state import State
from weft.readmodel.rows import ItemRow
from weft_schemas.compile import BuildStats, PackEntry
from weft_schemas.items import ItemKind


def stats_of(state: State, costed: Costed, choice: Choice, shown: Shown) -> BuildStats:
    ledger, entries = state.ledger, costed.entries
    count = counter(state.view.encoding)
    sections: Counter[str] = Counter()
    for one in entries:
        sections[one.section] += count(one.text)
    if entries:
        sections["frame"] = costed.prompt - sum(sections.values())
    included = tuple(one.item_id for one in entries if one.item_id)
    cut = {at: one for at, one in shown.items() if one.view not in (WHOLE, COMPACT, REDACTED)}
    return BuildStats(
        total_candidates=ledger.total,
        included_count=len(included),
        dropped_count=len(ledger.dropped),
        dropped_reasons=ledger.reasons,
        dropped_items=ledger.dropped,
        deduplicated_count=ledger.repeats,
        tokens_per_section=dict(sections),
        dependency_closures=ledger.closures,
        included_items=included,
        prompt_tokens=costed.prompt,
        message_tokens=costed.messages,
        budget=state.budget + state.returned_reasoning.tokens,
        encoding=state.view.encoding,
        notes=tuple(ledger.notes),
        shortened_count=len(cut),
        withheld_tokens=sum(_withheld(choice.cost.rows[at], one) for at, one in cut.items()),
        session_items=state.view.item_count(),
        no_message=_why_no_message(state, entries),
    )


_MESSAGES = frozenset(
    {ItemKind.USER_TURN, ItemKind.AGENT_MSG, ItemKind.TOOL_CALL, ItemKind.TOOL_RESULT}
)
_SAID = frozenset({ItemKind.USER_TURN, ItemKind.AGENT_MSG})
"""Kinds that make no message for a provider if they have no text."""
EMPTY = "empty"


def _why_no_message(state: State, entries: Iterable[PackEntry]) -> str | msgspec.UnsetType:
    told = [one for one in entries if one.kind in _MESSAGES]
    if any(one.text.strip() or one.kind not in _SAID for one in told):
        return msgspec.UNSET
    reasons = {one.item_id: one.reason for one in state.ledger.dropped}
    reasons |= {one.item_id: EMPTY for one in told}
    messages = (row for row in state.candidates.rows if row.kind in _MESSAGES)
    latest = max(messages, key=lambda row: row.sequence, default=None)
    return reasons.get(latest.id, msgspec.UNSET) if latest is not None else msgspec.UNSET


def _withheld(row: ItemRow, shown: Rendition) -> int:
    """The approximate number of tokens of an item that are not shown."""
    size = row.size_of_whole
    return max(row.raw_tokens - round(max(row.whole_tokens, 0) * len(shown.text) / max(size, 1)), 0)
