"""What was added to a session at once: an item, or the messages of one turn, read as items."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import msgspec

from weft.client.event_check import checked
from weft.messages.reading import Format, draft, turns_of
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem


class Added(msgspec.Struct, frozen=True, eq=False):
    """Added once: what is equal to it was added another time."""

    items: tuple[ContextItem, ...]
    is_message: bool = True
    """Their ids do not exist yet."""


def added_of(messages: Sequence[Any], format: Format) -> list[Added]:
    """The items among these, each by itself, and the turns of the messages between them, in order.
    Raises `InvalidInput`, which names the place among all."""
    added: list[Added] = []
    place = 0
    for is_item, run in groupby(messages, key=lambda one: isinstance(one, ContextItem)):
        given = list(run)
        if is_item:
            for item in given:
                checked(item)
                added.append(Added((item,), False))
            place += len(given)
            continue
        for turn in turns_of(given, format):
            added.append(Added(_read(turn, format, place)))
            place += len(turn)
    return added


def _read(messages: Sequence[Any], format: Format, place: int) -> tuple[ContextItem, ...]:
    """The items of messages that follow `place` others; an error names the place among all."""
    try:
        return draft(messages, format).items
    except InvalidInput as error:
        raise InvalidInput(
            _PLACE.sub(lambda found: f"messages[{place + int(found[1])}]", str(error), count=1)
        ) from None


_PLACE = re.compile(r"^messages\[(\d+)\]")
