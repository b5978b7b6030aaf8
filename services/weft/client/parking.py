"""Items that waited for a server which then refused them: kept apart, so that nothing behind them
waits, with the reason, until somebody mends what was wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec

from weft.durable_files import decoded_lines, write_durably
from weft_schemas.errors import Forbidden, InvalidInput
from weft_schemas.items import ContextItem

REFUSALS = (InvalidInput, Forbidden)
"""What a server says of one item; anything else that is said is of no item or of all of them."""


class ParkedWarning(UserWarning):
    """An item that was published while the server was away is refused by it, and parked."""


class Parked(msgspec.Struct, frozen=True):
    """One item that the server did not take."""

    item: ContextItem
    code: str
    """Of the error: `invalid_input` or `forbidden`."""
    reason: str


class Parking:
    """The file of one session's parked items. It holds what tools gave, unmasked."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def parked(self) -> tuple[Parked, ...]:
        """Each item once, in the order of publishing."""
        if not self.path.exists():
            return ()
        found = {one.item.id: one for one in decoded_lines(self.path, Parked)}
        return tuple(found.values())

    def replace(self, parked: Sequence[Parked]) -> None:
        """These and no others, on the disk when it returns."""
        if not parked:
            self.path.unlink(missing_ok=True)
            return
        making = self.path.with_suffix(".parking")
        making.unlink(missing_ok=True)
        write_durably(making, b"".join(msgspec.json.encode(one) + b"\n" for one in parked))
        making.rename(self.path)


async def refused(
    items: Sequence[ContextItem], publish: Callable[[Sequence[ContextItem]], Awaitable[None]]
) -> list[Parked]:
    """Publish all that is taken, in order; gives the others. Halves are tried apart, so that one
    refusal among many costs few tries; an item published again under its id changes nothing.
    Raises what `publish` raises of no single item."""
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
    return [*await refused(items[:half], publish), *await refused(items[half:], publish)]
