"""A compiled context as the framework's own history has it now.

The log keeps what happened. A framework may have lost an answer since, as after a crash: it is left
out, and the model is asked for it again. Or something took words out of an answer or a result, or
replaced it: that version is published beside the first, like any other item, and is shown in its
place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

import weft
from weft_schemas.compile import PackEntry
from weft_schemas.ids import digest
from weft_schemas.items import ContextItem, ItemKind

NOW = "-now-"
"""Between the id of an item and the hash of what it is now."""
_DIGITS = 16
_REPLACED = frozenset({ItemKind.AGENT_MSG, ItemKind.TOOL_RESULT})
"""A user's turn and a call shape what is around them, and stay as they were."""
_ASKS = (ItemKind.USER_TURN, ItemKind.TOOL_CALL, ItemKind.TOOL_RESULT)
"""Items that a model answers."""


def versions(published: weft.PublishedMessages) -> list[ContextItem]:
    """What the history that was published as `published` has now in place of items of the log."""
    changed = (one.item for one in published.conflicts if one.reason == "edited")
    return [_version(item) for item in changed if item is not None and item.kind in _REPLACED]


def _version(item: ContextItem) -> ContextItem:
    said = digest("now", item.text, str(bool(item.reserved.is_error)))[:_DIGITS]
    return msgspec.structs.replace(item, id=f"{item.id}{NOW}{said}")


def as_it_is(pack: weft.Pack, published: weft.PublishedMessages) -> weft.Pack:
    """The pack for the history that was published as `published`: with its versions, and without
    answers at its end that it does not contain. The work before these stays."""
    if published.spooled:  # it had no ids yet
        return pack
    entries = _without_lost_answers(
        _with_versions(pack.entries, versions(published)), frozenset(published.ids)
    )
    return msgspec.structs.replace(pack, entries=tuple(entries))


def _with_versions(entries: Sequence[PackEntry], now: Iterable[ContextItem]) -> list[PackEntry]:
    """Each version in the place of its item; what has no version in the prompt is not shown."""
    current = {one.id.partition(NOW)[0]: one.id for one in now}
    shown = {one.item_id: one for one in entries if NOW in one.item_id}
    made = []
    for one in entries:
        if one.item_id in current:
            version = shown.get(current[one.item_id])
            if version is not None:
                made.append(_in_place_of(one, version))
        elif one.item_id not in shown:
            made.append(one)
    return made


def _in_place_of(one: PackEntry, version: PackEntry) -> PackEntry:
    return msgspec.structs.replace(
        version,
        item_id=one.item_id,
        sequence=one.sequence,
        parent_id=one.parent_id,
        turn_id=one.turn_id,
        occurred_at=one.occurred_at,
        omitted_before=one.omitted_before,
        call=one.call,
    )


def _without_lost_answers(entries: Sequence[PackEntry], given: frozenset[str]) -> list[PackEntry]:
    asked = [one.sequence for one in entries if one.kind in _ASKS and one.item_id]
    last = max(asked, default=0)
    return [
        one
        for one in entries
        if not asked
        or one.kind is not ItemKind.AGENT_MSG
        or one.sequence < last
        or one.item_id in given
    ]
