"""What was added to a session at once: an item, or the messages of one turn, read as items."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, groupby
from typing import Any

import msgspec

from weft.client.event_check import checked
from weft.messages.reading import Format, draft, turns_of
from weft.messages.whole_answers import messages_in
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
        whole = [_messages_in(one, place + at) for at, one in enumerate(given)]
        places = [place + at for at, held in enumerate(whole) for _ in held]
        read = 0
        for turn in turns_of(list(chain(*whole)), format):
            added.append(Added(_read(turn, format, places[read:])))
            read += len(turn)
        place += len(given)
    return added


def _messages_in(answer: Any, place: int) -> list[Any]:
    try:
        return messages_in(answer)
    except InvalidInput as error:
        raise InvalidInput(f"messages[{place}]: {error}") from None


def _read(
    messages: Sequence[Any], format: Format, places: Sequence[int]
) -> tuple[ContextItem, ...]:
    """The items of messages at these places among all, which an error names."""
    try:
        return draft(messages, format).items
    except InvalidInput as error:
        raise InvalidInput(
            _PLACE.sub(lambda found: f"messages[{places[int(found[1])]}]", str(error), count=1)
        ) from None


_PLACE = re.compile(r"^messages\[(\d+)\]")
