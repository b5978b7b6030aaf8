"""The numbers of a pack: what was considered, shown, shortened and dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import msgspec

from weft.compiler.rendering.cost import Costed, Shown
from weft.compiler.rendering.counting import counter
from weft.compiler.renditions.rendition import COMPACT, REDACTED, WHOLE, Rendition
from weft.compiler.selection.choice import Choice
from weft.compiler.state import State
from weft.readmodel.rows import ItemRow
from weft_schemas.compile import BuildStats


def stats_of(state: State, costed: Costed, choice: Choice, shown: Shown) -> BuildStats:
    ledger, entries = state.ledger, costed.entries
    count = counter(state.view.encoding)
    sections: Counter[str] = Counter()
    for one in entries:
        sections[one.section] += count(one.text)
    if entries:
        sections["frame"] = costed.prompt - sum(sections.values())
    if not shown and state.groups:
        ledger.note(f"a budget of {state.budget} tokens is too small for any item")
    if state.request.as_of is not None and state.request.as_of > state.view.sequence:
        ledger.note(f"as of {state.request.as_of}: what is read ends at {state.view.sequence}")
    included = tuple(one.item_id for one in entries if one.item_id)
    _note_missing_pins(state, included)
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
        budget=state.budget + state.carried.tokens,
        encoding=state.view.encoding,
        notes=tuple(ledger.notes),
        shortened_count=len(cut),
        withheld_tokens=sum(_withheld(choice.cost.rows[at], one) for at, one in cut.items()),
        session_items=state.view.item_count(),
    )


def _note_missing_pins(state: State, included: Collection[str]) -> None:
    """Which items that the caller pinned are not in the prompt, and why. It is no error: the item
    may have been erased since, and a step without it is better than none."""
    asked = () if isinstance(state.request.pin, msgspec.UnsetType) else state.request.pin
    shown = set(included)
    missing = [one for one in dict.fromkeys(asked) if one not in shown]
    if not missing:
        return
    known = {row.id for row in state.view.by_ids(missing)}
    dropped = {one.item_id: one for one in state.ledger.dropped}
    for item_id in missing:
        if item_id not in known:
            why = f"the session has no such item at or before sequence {state.view.sequence}"
        elif item_id in dropped:
            one = dropped[item_id]
            why = f"dropped ({one.reason}{f': {one.detail}' if one.detail else ''})"
        else:
            why = "what it belongs to is not shown"
        state.ledger.note(f"pinned item {item_id!r:.80} is not in the prompt: {why}")


def _withheld(row: ItemRow, shown: Rendition) -> int:
    """About how many tokens of an item are not shown."""
    size = row.size_of_whole
    whole = row.whole_tokens if row.is_complete or row.envelope is None else row.envelope.raw_tokens
    return max(whole - round(max(row.whole_tokens, 0) * len(shown.text) / max(size, 1)), 0)
