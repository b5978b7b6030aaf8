"""A compiled context as the framework's own history has it now.

The log keeps what happened. A framework may have lost an answer since, as after a crash: it is left
out, and the model is asked for it again. Or something took words out of an answer or a result, or
replaced it: that version is published beside the first, like any other item, and is shown in its
place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

import weft
from weft.messages import Format
from weft.messages.reading import draft, renamed
from weft_schemas.compile import PackEntry
from weft_schemas.ids import digest
from weft_schemas.items import ContextItem, ItemKind

NOW = "-now-"
"""Between the id of an item and the hash of what it is now."""
_DIGITS = 16
_VERSION = re.compile(rf"[ar][0-9]+-[0-9a-f]+{NOW}[0-9a-f]{{{_DIGITS}}}")
"""Ids of versions; an item that somebody published may have an id that is somewhat like them."""
_REPLACED = frozenset({ItemKind.AGENT_MSG, ItemKind.TOOL_RESULT})
"""A user's turn and a call shape what is around them, and stay as they were."""
_ASKS = (ItemKind.USER_TURN, ItemKind.TOOL_CALL, ItemKind.TOOL_RESULT)
"""Items that a model answers."""


def versions(
    history: Sequence[Any], format: Format, published: weft.PublishedMessages
) -> list[ContextItem]:
    """What a history that was published as `published` has now in place of items of the log."""
    edited = {one.item_id for one in published.conflicts if one.reason == "edited"}
    if not edited or published.spooled:  # spooled, it has no ids yet
        return []
    items = renamed(draft(history, format).items, published.ids)
    return [_version(one) for one in items if one.id in edited and one.kind in _REPLACED]


def _version(item: ContextItem) -> ContextItem:
    said = digest("now", item.text, str(bool(item.reserved.is_error)))[:_DIGITS]
    return msgspec.structs.replace(item, id=f"{item.id}{NOW}{said}")


def as_it_is(
    pack: weft.Pack, published: weft.PublishedMessages, now: Iterable[ContextItem] = ()
) -> weft.Pack:
    """The pack for the history that was published as `published`: with its versions, and without
    answers at its end that it does not contain. The work before these stays."""
    if published.spooled:
        return pack
    given = frozenset(published.ids)
    entries = _with_versions(pack.entries, now, given)
    kept = _without_lost_answers(entries, given)
    return msgspec.structs.replace(pack, entries=tuple(kept))


def _with_versions(
    entries: Sequence[PackEntry], now: Iterable[ContextItem], given: frozenset[str]
) -> list[PackEntry]:
    """Each version in the place of its item; what has no version in the prompt is not shown. An
    item that the history no longer reaches stays as it was last."""
    shown = {one.item_id: one for one in entries if _VERSION.fullmatch(one.item_id)}
    last = {_item_of(id): id for id in shown}
    current = {item_id: id for item_id, id in last.items() if item_id not in given}
    current |= {_item_of(one.id): one.id for one in now}
    made = []
    for one in entries:
        if one.item_id in current:
            version = shown.get(current[one.item_id])
            if version is not None:
                made.append(_in_place_of(one, version))
        elif one.item_id not in shown:
            made.append(one)
    return made


def _item_of(version_id: str) -> str:
    return version_id.rpartition(NOW)[0]


def _in_place_of(one: PackEntry, version: PackEntry) -> PackEntry:
    return msgspec.structs.replace(
        version,
        item_id=one.item_id,
        sequence=one.sequence,
        parent_id=one.parent_id,
        turn_id=one.turn_id,
        occurred_at=one.occurred_at,
        omitted_before=one.omitted_before,
        omitted_calls=one.omitted_calls,
        call=one.call,
    )


def _asks(entry: PackEntry) -> bool:
    """Whether a model answers it. Of documents, those that a user's message brought along."""
    if entry.kind is ItemKind.DOC_SNIPPET:
        return entry.turn_id is not None
    return entry.kind in _ASKS


def _without_lost_answers(entries: Sequence[PackEntry], given: frozenset[str]) -> list[PackEntry]:
    asked = [one.sequence for one in entries if one.item_id and _asks(one)]
    last = max(asked, default=0)
    return [
        one
        for one in entries
        if not asked
        or one.kind is not ItemKind.AGENT_MSG
        or one.sequence < last
        or one.item_id in given
    ]
