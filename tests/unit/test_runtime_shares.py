"""Fair turns: whatever one tenant asks, another's request is begun at once."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from weft.runtime.shares import Shares
from weft_schemas.errors import Overloaded


async def begun(shares: Shares, tenant: str, session: str, stack: AsyncExitStack) -> None:
    await stack.enter_async_context(shares.place(tenant, session))


async def test_a_tenant_takes_its_share_and_no_more() -> None:
    shares = Shares(everybody=100, tenant=4, session=2, waiting=3)
    async with AsyncExitStack() as work:
        for session in ("s1", "s1", "s2", "s2"):
            await begun(shares, "acme", session, work)
        assert shares.would_wait("acme", "s3")
        waiting = [asyncio.create_task(begun(shares, "acme", "s3", work)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Overloaded, match="'acme'"):
            await begun(shares, "acme", "s4", work)
        assert not shares.would_wait("rival", "s1")
        await begun(shares, "rival", "s1", work)
        assert not any(task.done() for task in waiting)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    assert not shares._doors


async def test_a_session_that_waits_keeps_no_other_of_its_tenant_waiting() -> None:
    shares = Shares(everybody=100, tenant=4, session=2, waiting=10)
    async with AsyncExitStack() as work:
        for _ in range(2):
            await begun(shares, "acme", "s1", work)
        waiting = [asyncio.create_task(begun(shares, "acme", "s1", work)) for _ in range(5)]
        await asyncio.sleep(0)
        await begun(shares, "acme", "s2", work)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
