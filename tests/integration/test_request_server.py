"""Requests as a process takes them: so many at once, so many that wait, and what comes then is told
to come again."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from weft.log.transport import connect
from weft.runtime import request_server
from weft.runtime.process import Process
from weft.runtime.request_client import ask
from weft.runtime.request_server import RequestServer
from weft.runtime.requests import ReceivedRequest
from weft.runtime.settings import Settings
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import InvalidInput, Overloaded


class Question(msgspec.Struct, frozen=True):
    text: str = ""


class Answer(msgspec.Struct, frozen=True):
    text: str


async def test_more_than_can_wait_is_refused_and_other_services_go_on(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_server, "AT_ONCE", 1)
    monkeypatch.setattr(request_server, "MAX_WAITING", 100)
    process = Process("compiler", Settings())
    process.connection = await connect(server.url, name="answering")
    client = await connect(server.url, name="asking")
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(asked: ReceivedRequest[Question]) -> Answer:
        begun.set()
        await go_on.wait()
        return Answer(asked.request.text)

    async def quick(asked: ReceivedRequest[Question]) -> Answer:
        return Answer(f"{asked.tenant} {asked.session}")

    def question(text: str, service: str = "slow") -> asyncio.Task[Answer]:
        address = ("t", "s", service)
        return asyncio.create_task(ask(client, address, Question(text), Answer, 30))

    served = RequestServer(process, "group")
    await served.answer("slow", Question, slow)
    await served.answer("quick", Question, quick)
    assert await process.connection.flushed()

    first = question("first")
    await begun.wait()
    waiting = question("waits" * 10)
    await client.flushed()
    with pytest.raises(Overloaded, match="too many requests for slow wait already; try again"):
        await question("refused" * 10)
    assert (await question("", "quick")).text == "t s"
    go_on.set()
    assert [(await first).text, (await waiting).text] == ["first", "waits" * 10]
    assert (await question("again")).text == "again"
    with pytest.raises(InvalidInput, match="quick request"):
        await ask(client, ("t", "s", "quick"), Numbered(5), Answer, 30)

    go_on.clear()
    begun.clear()
    last = question("last")
    await begun.wait()
    draining = asyncio.create_task(served.drain())
    await asyncio.sleep(0.05)
    assert not draining.done()
    go_on.set()
    await draining
    assert (await last).text == "last"
    await client.close()
    await process.connection.close()


async def test_a_burst_of_one_tenant_is_begun_in_turn_with_what_others_ask(
    server: EmbeddedServer,
) -> None:
    """Beginning a request costs some of a millisecond: of 1,500 in a row, a second."""
    process = Process("compiler", Settings())
    process.connection = await connect(server.url, name="answering")
    client = await connect(server.url, name="asking")
    order: list[str] = []

    async def handled(asked: ReceivedRequest[Question]) -> Answer:
        order.append(asked.tenant)
        return Answer("")

    served = RequestServer(process, "group")
    await served.answer("quick", Question, handled)
    assert await process.connection.flushed()
    for _ in range(400):
        await client.publish("weft-rpc.many.s.quick", b"{}")
    await ask(client, ("one", "s", "quick"), Question(), Answer, 30)
    assert order.index("one") < 100
    await served.drain()
    assert len(order) == 401
    await client.close()
    await process.connection.close()


class Numbered(msgspec.Struct, frozen=True):
    text: int
