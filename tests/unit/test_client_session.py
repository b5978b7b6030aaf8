"""What is added to a session is published, whatever fails or overlaps."""

import asyncio
from typing import Any

import weft
from weft_schemas.errors import Unavailable
from weft_schemas.items import ContextItem, ItemKind


async def test_flushes_that_overlap_lose_nothing_that_is_not_published() -> None:
    async with weft.testing.in_memory() as client:
        publish = client.publish
        waiting: asyncio.Queue[asyncio.Future[None]] = asyncio.Queue()
        is_away = False

        async def publish_later(*said: Any) -> Any:
            if is_away:
                raise Unavailable("away")
            allowed = asyncio.get_running_loop().create_future()
            waiting.put_nowait(allowed)
            await allowed
            return await publish(*said)

        client.publish = publish_later  # type: ignore[method-assign]
        session, flushes, allowed = client.session("s"), [], []
        for name in "abc":
            session.add(ContextItem(name, ItemKind.USER_TURN, name))
            flushes.append(asyncio.create_task(session.flush()))
            allowed.append(await waiting.get())
        is_away = True
        for at in (1, 0):
            allowed[at].set_result(None)
            await asyncio.wait([flushes[at]])
        allowed[2].set_exception(Unavailable("away"))
        await asyncio.gather(*flushes, return_exceptions=True)
        client.publish = publish  # type: ignore[method-assign]
        await session.flush()
        events = [record.event() async for record in client.events("s")]
    assert [event.id for event in events if isinstance(event, ContextItem)] == ["a", "b", "c"]
