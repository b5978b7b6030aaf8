"""Fair turns: whatever one tenant asks, another's request is begun at once."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from weft.runtime.fair_queueing import ConcurrencyLimits, Turns
from weft_schemas.errors import Overloaded


async def begun(
    limits: ConcurrencyLimits, tenant: str, session: str, stack: AsyncExitStack
) -> None:
    await stack.enter_async_context(limits.place(tenant, session))


async def test_a_tenant_takes_its_share_and_no_more() -> None:
    limits = ConcurrencyLimits(everybody=100, tenant=4, session=2, waiting=3)
    async with AsyncExitStack() as work:
        for session in ("s1", "s1", "s2", "s2"):
            await begun(limits, "acme", session, work)
        assert limits.would_wait("acme", "s3")
        waiting = [asyncio.create_task(begun(limits, "acme", "s3", work)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Overloaded, match="'acme'"):
            await begun(limits, "acme", "s4", work)
        assert not limits.would_wait("rival", "s1")
        await begun(limits, "rival", "s1", work)
        assert not any(task.done() for task in waiting)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    assert not limits._queues


async def test_a_session_that_waits_keeps_no_other_of_its_tenant_waiting() -> None:
    limits = ConcurrencyLimits(everybody=100, tenant=4, session=2, waiting=10)
    async with AsyncExitStack() as work:
        for _ in range(2):
            await begun(limits, "acme", "s1", work)
        waiting = [asyncio.create_task(begun(limits, "acme", "s1", work)) for _ in range(5)]
        await asyncio.sleep(0)
        other = asyncio.create_task(begun(limits, "acme", "s2", work))
        await asyncio.sleep(0)
        assert other.done()
        assert not any(task.done() for task in waiting)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_tenants_take_turns_however_many_wait() -> None:
    turns, order = Turns(), list[str]()

    async def work(tenant: str) -> None:
        async with turns.turn(tenant):
            order.append(tenant)

    async with turns.turn("acme"):
        tenants = ["acme"] * 4 + ["rival", "third", "rival"]
        asked = [asyncio.create_task(work(tenant)) for tenant in tenants]
        await asyncio.sleep(0)
    await asyncio.gather(*asked)
    assert order == ["acme", "rival", "third", "acme", "rival", "acme", "acme"]


async def test_who_crowds_is_told_only_where_others_are_about() -> None:
    turns = Turns()
    async with turns.turn("acme"):
        waiting = [asyncio.create_task(begun_turn(turns, "acme")) for _ in range(3)]
        await asyncio.sleep(0)
        assert not turns.is_crowding("acme")
        waiting.append(asyncio.create_task(begun_turn(turns, "rival")))
        await asyncio.sleep(0)
        assert turns.is_crowding("acme")
        assert not turns.is_crowding("rival")
    await asyncio.gather(*waiting)
    assert not turns.is_crowding("acme")


async def test_who_leaves_while_waiting_keeps_no_turn() -> None:
    turns = Turns()
    async with turns.turn("acme"):
        waiting = [asyncio.create_task(begun_turn(turns, name)) for name in ("acme", "rival")]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
        assert waiting[0].cancelled()
    await asyncio.wait_for(waiting[1], 10)
    async with turns.turn("acme"):
        late = asyncio.create_task(begun_turn(turns, "rival"))
        await asyncio.sleep(0)
    late.cancel()  # in the moment in which it is given the turn
    await asyncio.gather(late, return_exceptions=True)
    await asyncio.wait_for(begun_turn(turns, "acme"), 10)


async def begun_turn(turns: Turns, tenant: str) -> None:
    async with turns.turn(tenant):
        pass
