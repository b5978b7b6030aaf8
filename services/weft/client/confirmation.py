"""Tells what became of published items, from what the read model says about their ids.

Batches report neither sequences nor duplicates. So an item counts as new if the item in force under
its id is at or after the first sequence of this publish.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from weft.client.outgoing import PublishAck
from weft_schemas.status import Collision, StatusReply


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
    """The same from replies that name the places of all ids and the collisions since
    `ack.first`."""
    places: dict[str, int] = {}
    collisions: dict[int, Collision] = {}
    for reply in replies:
        places.update(reply.places)
        collisions.update({one.sequence: one for one in reply.collisions})
    mine = [one for one in collisions.values() if one.item_id in places]
    conflicts = tuple(one for one in mine if one.conflict)
    lost = {one.item_id for one in conflicts}
    repeated = {one.item_id for one in mine if not one.conflict}
    duplicates = tuple(
        item_id
        for item_id in distinct(ack.ids)
        if item_id in repeated or (item_id not in lost and places.get(item_id, 0) < ack.first)
    )
    return Confirmation(sum(place >= ack.first for place in places.values()), duplicates, conflicts)
