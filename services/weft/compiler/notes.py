"""The notes of a pack, in plain sentences: which options of the request had no effect, what no
budget would show, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from weft.bodies.masking import MAX_CLEAN_BYTES
from weft.compiler.rendering.cost import Shown
from weft.compiler.rendering.tools import reads_catalog, reads_tools
from weft.compiler.renditions.rendition import SUMMARY
from weft.compiler.selection.choice import Choice
from weft.compiler.state import State, asked_budget
from weft.readmodel.rows import ItemRow
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind


def note_all(state: State, choice: Choice, shown: Shown, entries: Iterable[PackEntry]) -> None:
    """Write all notes of a finished selection into the ledger."""
    note_request(state, shown, [one.item_id for one in entries if one.item_id])
    rows = ((choice.cost.rows[at], one.view) for at, one in sorted(shown.items()))
    note_large(state, (row for row, view in rows if view == SUMMARY or row.stored))


def note_request(state: State, shown: Shown, included: Collection[str]) -> None:
    """Note in the ledger where the pack differs from what was asked for. `included` are the ids of
    the items in the prompt."""
    request, sequence = state.request, state.view.sequence
    if not shown and state.groups:
        _note_budget(state)
    if request.as_of is not None and request.as_of > sequence:
        state.ledger.note(f"as of {request.as_of}: what is read ends at {sequence}")
    _note_unknown_catalogue(state)
    _note_unranked_tools(state)
    _note_missing_pins(state, included)


def note_large(state: State, rows: Iterable[ItemRow]) -> None:
    """Note which items among `rows` are shown as summaries at any budget, since their text is in
    the object store and not in the read model."""
    large = [row for row in rows if _size_in_store(row)]
    for row in large[:NAMED]:
        state.ledger.note(
            f"{_named(row)} of {_size_in_store(row):,} bytes is shown {_form(row)}: "
            f"{_why(row)}; read it by its handle"
        )
    if more := large[NAMED:]:
        many = len(more) > 1
        kind = "result" if all(row.kind is ItemKind.TOOL_RESULT for row in more) else "item"
        state.ledger.note(
            f"{len(more)} more {kind}{'s' * many} in the object store {'are' if many else 'is'} "
            f"shown as {'their summaries' if many else 'its summary'}"
        )


NAMED = 3
"""Most such items that have a note each."""


def _named(row: ItemRow) -> str:
    kind = "result" if row.kind is ItemKind.TOOL_RESULT else row.kind.value.replace("_", " ")
    return f"{kind} {row.id!r:.80}"


def _form(row: ItemRow) -> str:
    if row.kind is ItemKind.TOOL_CALL:
        return "without its text"
    return "as its summary" if row.text else "by its size, as it has no summary yet"


def _why(row: ItemRow) -> str:
    if row.stored:
        return "its body is in the object store"
    if _size_in_store(row) > MAX_CLEAN_BYTES:
        return f"prompts show no more of a result over {MAX_CLEAN_BYTES >> 20} MiB"
    return (
        "its envelope has no more of it, as it is no text, by policy, or since an earlier release "
        "made it (`weft rederive firewall`)"
    )


def _size_in_store(row: ItemRow) -> int:
    """Bytes of a body in the object store that is not in the read model, 0 for any other."""
    if row.stored:
        return row.stored
    if row.is_complete:
        return 0
    artifacts = row.envelope.artifacts if row.envelope is not None else ()
    return artifacts[0].size if artifacts and artifacts[0].body is not None else 0


def _note_budget(state: State) -> None:
    """Comes before all other notes if the reserve takes the whole budget, since they follow from
    that."""
    reserve, asked = state.request.reserve, asked_budget(state.request, state.policy)
    if reserve > 0 and not state.budget:
        state.ledger.notes.insert(
            0,
            f"a reserve of {reserve} tokens leaves nothing of the budget of {asked}: lower "
            "`reserve` or raise `budget`",
        )
        return
    less = f" ({asked} less a reserve of {reserve})" if reserve > 0 else ""
    state.ledger.note(f"a budget of {state.budget} tokens{less} is too small for any item")


def _note_unknown_catalogue(state: State) -> None:
    """Only if the router was not asked: it refuses such a name itself."""
    request, name = state.request, state.request.catalog
    is_routed = reads_tools(request) and not reads_catalog(request)
    if name and not is_routed and not state.view.catalog_size(name):
        state.ledger.note(
            f"catalogue {name!r:.80} is not in the log at or before sequence "
            f"{state.view.sequence}; publish it: weft catalog publish FILE --name NAME"
        )


def _note_unranked_tools(state: State) -> None:
    """What the router answered for a query none of whose words a tool has."""
    cards = state.request.cards
    if isinstance(cards, msgspec.UnsetType):
        return
    name = f"catalogue {str(state.request.catalog)!r:.80}"
    if not cards:
        state.ledger.note(
            f"{name}: no tool is shown: the catalogue is empty, or nothing was asked (no `query`, "
            "and no user turn that may be shown)"
        )
    elif any(card.is_unranked for card in cards):
        state.ledger.note(
            f"{name}: no tool has a word of the query; some are shown, not ranked: give a `query` "
            "in the words of the catalogue, give its tools tags or examples in your language, or "
            "rank by meaning too (WEFT_ROUTER_ENCODER)"
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
