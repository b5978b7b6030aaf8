"""The lane: one piece of work at a time in a process of its own."""

import asyncio
import time

import pytest

from weft.runtime.lane import Lane


async def test_who_leaves_takes_his_outcome_with_him() -> None:
    lane = Lane()
    try:
        left = asyncio.create_task(lane.run(time.sleep, 20))
        await asyncio.sleep(0.5)
        left.cancel()
        with pytest.raises(asyncio.CancelledError):
            await left
        assert await lane.run(len, "four") == 4
    finally:
        lane.close()
