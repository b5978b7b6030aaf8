"""What one summarizer remembers about earlier stretches: where each session's last one ended and
which items were in it, so that the next closing reads from there and not the whole session."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import msgspec

from weft_schemas.events import Event, SessionClosedEvent
from weft_schemas.items import ContextItem

MAX_IDS = 200_000
"""How many item ids are remembered in all, about 20 MiB. Sessions that were unused the longest are
forgotten and read whole again."""


class Covered(msgspec.Struct, frozen=True):
    """A session up to the end of a closed stretch. Without arguments: nothing is known."""

    closing: int = 0
    """Sequence of the `session_closed` event."""
    last: int = 0
    """The stretch's last sequence."""
    ids: frozenset[bytes] = frozenset()
    """Short hashes of the ids of the items up to `last`; a later item with one is a repeat."""

    def holds(self, item_id: str) -> bool:
        return bool(self.ids) and _short(item_id) in self.ids

    def reaches_into(self, events: Iterable[tuple[int, Event]], closing: int) -> bool:
        """Whether a later closing, up to this one, ends before `last`: then the whole session is
        read."""
        return any(
            isinstance(event, SessionClosedEvent)
            and self.closing < sequence <= closing
            and 0 < event.last_sequence < self.last
            for sequence, event in events
        )


NOTHING = Covered()


class CoveredStretches:
    """The covered part of each session, in a bounded space."""

    def __init__(self, most: int = MAX_IDS) -> None:
        self._most = most
        self._held = 0
        self._sessions: OrderedDict[tuple[str, str], Covered] = OrderedDict()

    def before(self, place: tuple[str, str], closing: int) -> Covered:
        """What is known about a (tenant, session) from before a closing."""
        known = self._sessions.get(place, NOTHING)
        return known if known.closing < closing else NOTHING

    def keep(
        self,
        place: tuple[str, str],
        before: Covered,
        events: Sequence[tuple[int, Event]],
        closing: int,
    ) -> None:
        """Remember a session up to the closing at sequence `closing`. `events` are all those after
        `before`."""
        if self._sessions.get(place, NOTHING).closing >= closing:
            return
        last = _end(events, closing)
        # A stretch that claims to end after its closing is read whole each time.
        if 0 < last <= closing:
            new = (_short(e.id) for at, e in events if isinstance(e, ContextItem) and at <= last)
            self._put(place, Covered(closing, last, before.ids.union(new)))

    def _put(self, place: tuple[str, str], covered: Covered) -> None:
        old = self._sessions.pop(place, NOTHING)
        self._sessions[place] = covered
        self._held += _size(covered) - _size(old)
        while self._held > self._most:
            _, dropped = self._sessions.popitem(last=False)
            self._held -= _size(dropped)


def _end(events: Iterable[tuple[int, Event]], closing: int) -> int:
    """Last sequence of the stretch that a closing ends, 0 if the closing is not there."""
    for sequence, event in events:
        if sequence == closing and isinstance(event, SessionClosedEvent):
            return event.last_sequence or sequence
    return 0


def _size(covered: Covered) -> int:
    return len(covered.ids) + 1 if covered.closing else 0


def _short(item_id: str) -> bytes:
    return blake2b(item_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
