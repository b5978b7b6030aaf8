"""Which sequence a time stands for, on a real log with holes."""

import asyncio

import pytest
from tests.integration.indexer_process import publish

from weft.audit.time_to_sequence import sequence_at
from weft.log.connection import Connection
from weft.log.reading import read
from weft.log.secure_delete import erase
from weft_schemas.errors import NotFound
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.subjects import STREAM


async def stored(log: Connection, count: int) -> list[int]:
    """Times of so many messages, apart from each other."""
    for number in range(count):
        await publish(log, "s", [ContextItem(f"i{number}", ItemKind.USER_TURN, "x")])
        await asyncio.sleep(0.002)
    return [(await read(log, sequence)).published_ns for sequence in range(1, count + 1)]


async def test_a_time_stands_for_the_last_message_stored_by_then(log: Connection) -> None:
    times = await stored(log, 9)
    for sequence, time in enumerate(times, 1):
        assert await sequence_at(log, time) == sequence
        assert await sequence_at(log, time + 1) == sequence
    assert await sequence_at(log, times[4] - 1) == 4
    assert await sequence_at(log, times[-1] + 10**15) == 9


async def test_before_the_first_message_there_was_nothing(log: Connection) -> None:
    times = await stored(log, 2)
    with pytest.raises(NotFound, match="give a later one"):
        await sequence_at(log, times[0] - 1)


async def test_erased_messages_are_passed_over(log: Connection) -> None:
    times = await stored(log, 8)
    for sequence in (3, 4, 5, 8):
        await erase(log, STREAM, sequence)
    assert await sequence_at(log, times[1]) == 2
    assert await sequence_at(log, times[5] - 1) in (2, 3, 4, 5)
    assert await sequence_at(log, times[5]) == 6
    assert await sequence_at(log, times[7]) >= 7
