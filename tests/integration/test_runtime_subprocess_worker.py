"""One piece of work at a time in a process of its own."""

import asyncio
import time

import pytest

from weft.runtime.subprocess_worker import SubprocessWorker


async def test_who_leaves_takes_his_outcome_with_him() -> None:
    worker = SubprocessWorker()
    try:
        left = asyncio.create_task(worker.run(time.sleep, 20))
        await asyncio.sleep(0.5)
        left.cancel()
        with pytest.raises(asyncio.CancelledError):
            await left
        assert await worker.run(len, "four") == 4
    finally:
        worker.close()
