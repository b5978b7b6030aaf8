"""Requests as a process takes them: so many at once, so many that wait, and what comes then is told
to come again."""

from __future__ import annotations

import asyncio
import re
from math import inf, nan
from typing import Any

import msgspec
import pytest
from tests.retrying import PATIENCE

from weft.log.api import replied
from weft.log.transport import connect
from weft.runtime import request_server
from weft.runtime.process import Process
from weft.runtime.request_client import ask
from weft.runtime.request_server import RequestServer
from weft.runtime.requests import ReceivedRequest
from weft.runtime.settings import Settings
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.compile import CompileRequest, ErrorReply
from weft_schemas.errors import ERROR_HEADER, InvalidInput, Overloaded, Unavailable
from weft_schemas.policy import Phase
from weft_schemas.subjects import REPLY_TIMEOUT_HEADER


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


async def test_a_request_whose_requester_is_gone_is_not_worked_on(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither begun, where it waits, nor gone on with."""
    monkeypatch.setattr(request_server, "AT_ONCE", 1)
    process = Process("compiler", Settings())
    process.connection = await connect(server.url, name="answering")
    client = await connect(server.url, name="asking")
    order, has_begun, go_on = list[str](), asyncio.Event(), asyncio.Event()

    async def slow(asked: ReceivedRequest[Question]) -> Answer:
        order.append(f"begin {asked.request.text}")
        has_begun.set()
        try:
            await go_on.wait()
        finally:
            order.append(f"end {asked.request.text}")
        return Answer("")

    async def refused(text: str) -> str:
        headers, body = {REPLY_TIMEOUT_HEADER: "0.1"}, msgspec.json.encode(Question(text))
        reply = await replied(client, "weft-rpc.t.s.slow", body, PATIENCE, headers)
        assert (reply.headers or {})[ERROR_HEADER] == Unavailable.code
        return msgspec.json.decode(reply.data, type=ErrorReply).message

    def expired() -> float | None:
        name = "weft_requests_received_processed_messages_exceptions_total"
        labels = {
            "app_name": "compiler", "broker": "nats", "exception_type": "Expired",
            "handler": "weft-rpc.{tenant}.{session}.slow",
        }  # fmt: skip
        return process.metrics.registry.get_sample_value(name, labels)

    served = RequestServer(process, "group")
    await served.answer("slow", Question, slow)
    assert await process.connection.flushed()
    first = asyncio.create_task(ask(client, ("t", "s", "slow"), Question("1"), Answer, 30))
    await has_begun.wait()
    assert await refused("2") == (
        "slow had no reply in the 0.1 s that the requester waits; ask again with a longer timeout, "
        "or start more of its processes"
    )
    assert (order, expired()) == (["begin 1"], 1)
    go_on.set()
    await first
    go_on.clear()
    await refused("3")
    assert (order, expired()) == (["begin 1", "end 1", "begin 3", "end 3"], 2)
    await served.drain()
    await client.close()
    await process.connection.close()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"budget": nan}, "budget is nan; give a whole number"),
        ({"reserve": -inf}, "reserve is -inf; give a whole number"),
        ({"timeout": inf}, "timeout is inf; give seconds, 0 to 60"),
        ({"query": "a\ud800"}, "compile request: $.query has a lone surrogate; send valid Unic"),
        ({"pin": ("a", "\udfff")}, "compile request: $.pin[1] has a lone surrogate; send val"),
        ({"tools": ({"name": object()},)}, "compile request: $.tools cannot be written as JSON"),
    ],
)
async def test_what_cannot_be_asked_is_named_by_its_field(
    server: EmbeddedServer, fields: dict[str, Any], told: str
) -> None:
    client = await connect(server.url, name="asking")
    with pytest.raises(InvalidInput, match=f"^{re.escape(told)}"):
        await ask(client, ("t", "s", "compile"), CompileRequest(Phase.ANSWER, **fields), Answer)
    await client.close()


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
