"""Items that can never be published as they are, such as one longer than the server's messages. The
others are published, and an error tells the caller which one was not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import msgspec

from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind

KEPT_BYTES = 4_096
"""Longest value of metadata, in bytes, that stays in a shortened item; ids and names are
shorter."""
KEPT_CHARACTERS = 1_000
"""Of a text that is cut."""


class ItemRefused(InvalidInput):
    """This one item cannot be published, whenever it is tried; the others can. Any other
    `InvalidInput` may be about the request, the session, or the use of the client."""

    index = -1
    """The item's place among those that were to be published."""
    is_shortened = False
    """Whether it was then published without what is too long."""


class Accepted(msgspec.Struct):
    """What was published."""

    sequence: int
    items: list[ContextItem]
    refused: list[ItemRefused]


class _Acknowledged(Protocol):
    @property
    def sequence(self) -> int: ...


async def accepted(
    items: Sequence[ContextItem],
    publish: Callable[[Sequence[ContextItem]], Awaitable[_Acknowledged]],
    instead: Callable[[ContextItem], ContextItem | None] = lambda _: None,
) -> Accepted:
    """Publish all but those that are refused, in order; in place of each refused item, publish the
    one that `instead` makes of it. Raises what `publish` raises about anything but one item."""
    left = list(items)
    refused: dict[str, ItemRefused] = {}
    sequence = 0
    while left:
        try:
            sequence = (await publish(left)).sequence
            break
        except ItemRefused as error:
            if not 0 <= error.index < len(left):
                raise
            bad = left[error.index]
            shorter = instead(bad)
            left[error.index : error.index + 1] = [] if shorter is None else [shorter]
            refused.setdefault(bad.id, error).is_shortened = shorter is not None
    return Accepted(sequence, left, list(refused.values()))


def shortened(item: ContextItem) -> ContextItem | None:
    """The item without its long metadata; if it has none, with the beginning of its text. A note
    says how much is left out. It keeps its id and kind, so that the results of a call keep their
    parent. None if nothing about it is long."""
    sizes = {key: len(msgspec.json.encode({key: value})) for key, value in item.metadata.items()}
    long = {key: size for key, size in sizes.items() if size > KEPT_BYTES}
    if not long:
        return _cut(item) if len(item.text) > KEPT_CHARACTERS + len(_note(10**12)) else None
    note = _note(sum(long.values()))
    metadata = {key: value for key, value in item.metadata.items() if key not in long}
    text = f"{item.text}\n{note}".lstrip()
    if "arguments" in long:
        metadata["arguments"] = {"left_out": note}
    if "arguments" in long and item.kind is ItemKind.TOOL_CALL:  # its text repeats them
        text = f"{metadata.get('tool_name', '')}({note})"
    return msgspec.structs.replace(item, text=text, metadata=metadata)


def _cut(item: ContextItem) -> ContextItem:
    kept, rest = item.text[:KEPT_CHARACTERS], item.text[KEPT_CHARACTERS:]
    return msgspec.structs.replace(item, text=f"{kept}\n{_note(len(rest.encode()))}")


def _note(size: int) -> str:
    return f"… {size:,} bytes left out: too long for the log …"
