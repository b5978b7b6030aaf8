"""Tells what became of published items, by the state of their ids in the read model.

Batches report neither sequences nor duplicates. So an item counts as new if the item in force under
its id is at or after the first sequence of this publish. A conflict is found by its content: the
server reports an item that lost earlier as a duplicate, but it is a conflict each time it is
published.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from weft.client.outgoing import PublishAck
from weft_schemas.status import ASKED, Collision, StatusReply, StatusRequest

T = TypeVar("T")


class Confirmation(msgspec.Struct, frozen=True):
    """What became of published items."""

    stored: int
    """New in their session."""
    duplicates: tuple[str, ...]
    """Ids that were there before with the same content: nothing changed."""
    conflicts: tuple[Collision, ...]
    """Ids that belong to other content, which stays: publish these items under other ids."""
    missing: tuple[str, ...] = ()
    """Ids that the log does not contain: publish them again."""


def distinct(ids: Iterable[str]) -> tuple[str, ...]:
    """The published ids, each once, in order."""
    return tuple(dict.fromkeys(ids))


def pages_of(asked: Sequence[T]) -> list[tuple[T, ...]]:
    """As many as one request may ask about."""
    return [tuple(asked[start : start + ASKED]) for start in range(0, len(asked), ASKED)]


def questions_about(ack: PublishAck) -> list[StatusRequest]:
    """What to ask for `confirmation`: about every id, with its content if the ack names it."""
    if ack.digests is msgspec.UNSET:
        return [StatusRequest(ids=page) for page in pages_of(distinct(ack.ids))]
    contents = list(dict.fromkeys(zip(ack.ids, ack.digests, strict=True)))
    return [StatusRequest(contents=page) for page in pages_of(contents)]


def settlement(ids: Iterable[str], replies: Iterable[StatusReply]) -> Confirmation:
    """What became of items without an acknowledgement, from replies that name the places of all ids
    and all collisions of the session. Items that were there before are not distinguished from new
    ones."""
    places: dict[str, int] = {}
    conflicts: dict[int, Collision] = {}
    for reply in replies:
        places.update(reply.places)
        conflicts.update({one.sequence: one for one in reply.collisions if one.conflict})
    asked = distinct(ids)
    mine = tuple(one for one in conflicts.values() if one.item_id in asked)
    missing = tuple(item_id for item_id in asked if item_id not in places)
    return Confirmation(len(asked) - len(missing), (), mine, missing)


def confirmation(ack: PublishAck, replies: Iterable[StatusReply]) -> Confirmation:
    """The same from replies to `questions_about(ack)` that name the collisions since
    `ack.first`."""
    places: dict[str, int] = {}
    collisions: dict[int, Collision] = {}
    others: dict[tuple[str, int], Collision] = {}
    for reply in replies:
        places.update(reply.places)
        collisions.update({one.sequence: one for one in reply.collisions})
        others.update({(one.item_id, one.sequence): one for one in reply.others or ()})
    mine = [one for one in collisions.values() if one.item_id in places]
    others.update({(one.item_id, one.sequence): one for one in mine if one.conflict})
    conflicts = tuple(others.values())
    lost = {one.item_id for one in conflicts}
    repeated = {one.item_id for one in mine if not one.conflict}
    duplicates = tuple(
        item_id
        for item_id in distinct(ack.ids)
        if item_id in repeated or (item_id not in lost and places.get(item_id, 0) < ack.first)
    )
    return Confirmation(sum(place >= ack.first for place in places.values()), duplicates, conflicts)
