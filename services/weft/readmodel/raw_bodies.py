"""Raw bodies of untrusted items, needed from their event until their envelope: held in memory, or
read from the log again, and never written to a file. Those in the object store are read when their
envelope says how they are shown."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress

from weft_schemas.errors import InvalidInput
from weft_schemas.events import decode_event
from weft_schemas.items import BodyRef, ContextItem

MAX_BYTES = 32 << 20
"""Held in memory; others are read from the log again. Enough for the backlog of a busy firewall."""
ENTRY_BYTES = 256
"""Bytes that a held body takes besides its characters."""

Read = Callable[[int], bytes | None]
"""A record's payload by its sequence, None if it is gone. Raises `Unavailable`."""
ReadStored = Callable[[str, BodyRef], bytes | None]
"""A stored body by its tenant and reference, None if it is gone. Raises `Unavailable`."""


class RawBodies:
    """Bodies by their item's sequence; the oldest are forgotten first."""

    def __init__(self, read: Read | None = None, read_stored: ReadStored | None = None) -> None:
        """Without `read` no body is dropped, because it could not be read again. Without
        `read_stored` none in the object store is known."""
        self._read = read
        self._read_stored = read_stored
        self._kept: OrderedDict[int, str] = OrderedDict()
        self._size = 0

    def add(self, sequence: int, text: str) -> None:
        """Remember a body until it is taken or dropped."""
        self._kept[sequence] = text
        self._size += _bytes(text)
        while self._read is not None and self._size > MAX_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._size -= _bytes(oldest)

    def newest(self) -> str:
        """The body added last, empty if none is held."""
        return next(reversed(self._kept.values()), "")

    def take(self, sequence: int) -> str | None:
        """The body of an item; None if the log no longer has it."""
        if (known := self._kept.get(sequence)) is not None:
            self.drop(sequence)
            return known
        payload = self._read(sequence) if self._read else None
        with suppress(InvalidInput):
            event = None if payload is None else decode_event(payload)
            return event.text if isinstance(event, ContextItem) else None
        return None

    def stored(self, tenant: str, reference: BodyRef) -> bytes | None:
        """A body in the object store; None if it is gone. It is held nowhere."""
        return self._read_stored(tenant, reference) if self._read_stored else None

    def drop(self, sequence: int) -> None:
        """Forget a body that is no longer waited for; it can still be read again."""
        if self._read is not None and sequence in self._kept:
            self._size -= _bytes(self._kept.pop(sequence))

    def forget(self) -> None:
        """Drop everything, after an erasure or a failed transaction."""
        self._kept.clear()
        self._size = 0


def _bytes(text: str) -> int:
    """The bytes that it takes to hold a text; emoji and the like take twice as many."""
    return ENTRY_BYTES + len(text) * (1 if text.isascii() else 2)
