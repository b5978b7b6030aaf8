"""Messages that are erased for good, also by several at once."""

from __future__ import annotations

import asyncio

from tests.integration.indexer_process import publish
from tests.integration.snapshotted import turns

from weft.log.connection import Connection
from weft.log.secure_delete import erase, erase_all
from weft_schemas.subjects import STREAM


async def test_what_is_not_there_any_more_is_erased(log: Connection) -> None:
    """At the beginning, in the middle and after the end, which the server tells apart."""
    await publish(log, "s", turns(9))
    assert [await erase(log, STREAM, one) for one in (1, 5, 9)] == [True] * 3
    assert [await erase(log, STREAM, one) for one in (1, 5, 9, 20)] == [False] * 4


async def test_of_two_who_erase_the_same_each_finishes(log: Connection) -> None:
    await publish(log, "s", turns(50))
    counts = await asyncio.gather(*(erase_all(log, STREAM, range(1, 51)) for _ in range(2)))
    assert sum(counts) == 50
