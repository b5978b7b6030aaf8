"""Items that waited for a server which then refused them. They are parked with the reason until
somebody corrects the fault, so that nothing after them has to wait."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec

from weft.client.refusals import ItemRefused
from weft.durable_files import decoded_lines, replace_durably
from weft_schemas.errors import Forbidden
from weft_schemas.items import ContextItem

REFUSALS = (ItemRefused, Forbidden)
"""Errors about one item; any other error is about no item or about all of them."""


class ParkedWarning(UserWarning):
    """An item that was published while the server was away, was refused by it and is parked."""


class Parked(msgspec.Struct, frozen=True):
    """One item that the server did not accept."""

    item: ContextItem
    code: str
    """Code of the error: `invalid_input` or `forbidden`."""
    reason: str


class Parking:
    """The file of one session's parked items. It contains unmasked outputs of tools."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def parked(self) -> tuple[Parked, ...]:
        """Each item once, in the order of publishing."""
        if not self.path.exists():
            return ()
        found = {one.item.id: one for one in decoded_lines(self.path, Parked)}
        return tuple(found.values())

    def replace(self, parked: Sequence[Parked]) -> None:
        """Keep these and no others; they are on disk when it returns."""
        if not parked:
            self.path.unlink(missing_ok=True)
            return
        replace_durably(self.path, b"".join(msgspec.json.encode(one) + b"\n" for one in parked))


async def publish_accepted(
    items: Sequence[ContextItem], publish: Callable[[Sequence[ContextItem]], Awaitable[None]]
) -> list[Parked]:
    """Publish everything that is accepted, in order; returns the others. Halves are tried
    separately, so that one refusal among many items costs few attempts; publishing an item again
    under its id changes nothing. Raises what `publish` raises about anything other than a single
    item."""
    if not items:
        return []
    try:
        await publish(items)
    except REFUSALS as error:
        if len(items) == 1:
            return [Parked(items[0], error.code, str(error))]
    else:
        return []
    half = len(items) // 2
    return [
        *await publish_accepted(items[:half], publish),
        *await publish_accepted(items[half:], publish),
    ]
