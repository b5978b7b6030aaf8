"""One request that each process answers: with all answers, and nowhere but in inboxes."""

import asyncio

import msgspec
from tests.integration.conftest import stored_payloads

from weft.log.connection import Connection
from weft.log.scatter_gather import answer_each, gather

ASKED = "weft-rpc.acme.@tenant.test"


class Named(msgspec.Struct):
    name: str


async def test_each_process_answers_and_none_is_waited_for_where_none_listens(log: Connection):
    async with asyncio.timeout(60):
        assert await gather(log, "acme", "test", Named, 120.0, 0.0) == []
    listeners = [await answer_each(log, "test", lambda _, n=n: Named(n)) for n in ("a", "b")]
    found = await gather(log, "acme", "test", Named, 60.0, 1.0)
    assert sorted(one.name for one in found) == ["a", "b"]
    for listener in listeners:
        await listener.close()


async def test_an_answer_is_never_stored_as_an_event(log: Connection):
    listener = await answer_each(log, "test", lambda _: Named("a"))
    for reply in ("weft.acme.s1.out.summary", "weft.rival.s1.in.user_turn"):
        await log.publish(ASKED, b"{}", reply=reply)
    assert await gather(
        log, "acme", "test", Named, 60.0, 0.0
    )  # after it the two above have been answered
    await log.flushed()
    assert await stored_payloads(log) == []
    await listener.close()
