"""Timeouts that count short waits instead of the clock.

A process that was suspended (a frozen container, a machine too busy to run it) finds every deadline
expired and every answer still unread in its socket. The time in which it did not run says nothing
about the other side, so a suspension counts as one short wait, however long it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

POLL_SECONDS = 0.25
"""One short wait."""


async def done_within(work: asyncio.Future[Any], seconds: float) -> bool:
    """Wait until `work` is done, `seconds` at most; whether it is."""
    while seconds > 0 and not work.done():
        one_wait = min(POLL_SECONDS, seconds)
        await asyncio.wait([work], timeout=one_wait)
        seconds -= one_wait
    return work.done()


@asynccontextmanager
async def time_limit(seconds: float) -> AsyncIterator[asyncio.Timeout]:
    """`asyncio.timeout` in such waits."""
    loop = asyncio.get_running_loop()
    timer: asyncio.Handle

    def wait(left: float) -> None:
        nonlocal timer
        if left <= 0:
            limit.reschedule(loop.time())
        else:
            timer = loop.call_later(min(POLL_SECONDS, left), wait, left - POLL_SECONDS)

    async with asyncio.timeout(None) as limit:
        timer = loop.call_soon(wait, seconds)
        try:
            yield limit
        finally:
            timer.cancel()


async def cancelled(*tasks: asyncio.Future[Any] | None, again: float | None = None) -> None:
    """Cancel tasks, wait until they have ended and ignore their errors. With `again` they are
    cancelled every so many seconds: Python 3.11's `wait_for` can lose a cancellation."""
    running = [task for task in tasks if task is not None]
    while not all(task.done() for task in running):
        for task in running:
            task.cancel()
        await asyncio.wait(running, timeout=again)
    await asyncio.gather(*running, return_exceptions=True)


async def pause(seconds: float) -> None:
    """Sleep, not counting time in which this process did not run."""
    await done_within(asyncio.get_running_loop().create_future(), seconds)
