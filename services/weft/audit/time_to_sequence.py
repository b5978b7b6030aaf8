"""From a time to a log sequence: the last event stored by then."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from weft.log.connection import Connection
from weft.log.reading import next_after, state
from weft_schemas.errors import InvalidInput, NotFound

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_time(text: str) -> int:
    """Nanoseconds since 1970 of an RFC 3339 time; without an offset it is UTC, a date is its
    midnight. Raises `InvalidInput`."""
    try:
        time = datetime.fromisoformat(text.strip().replace("Z", "+00:00").replace("z", "+00:00"))
    except ValueError:
        raise InvalidInput(
            f"{text!r} is neither a sequence nor a time such as 2026-01-31T12:00:00Z"
        ) from None
    since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH
    return since // timedelta(microseconds=1) * 1_000


async def sequence_at(connection: Connection, time_ns: int) -> int:
    """Sequence of the last message stored at or before a time, nanoseconds since 1970 UTC.

    Found by binary search, some 25 requests in a log of millions. Raises `NotFound` if the log
    began later.
    """
    now = await state(connection)
    low, high = now.first - 1, now.last
    while low < high:
        middle = (low + high + 1) // 2
        # An erased message counts with the time of the next one.
        stored = await next_after(connection, middle - 1)
        if stored is not None and stored.published_ns <= time_ns:
            low = max(middle, stored.sequence)
        else:
            high = middle - 1
    if low < now.first:
        raise NotFound("the log holds nothing from that time or before; give a later one")
    return low
