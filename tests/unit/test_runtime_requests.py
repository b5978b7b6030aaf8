"""Requests are FastStream's: middlewares, injection, AsyncAPI and the test broker work on them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from faststream import BaseMiddleware, Depends
from faststream.nats import TestNatsBroker
from faststream.specification import AsyncAPI
from prometheus_client import generate_latest

from weft.runtime.process import Process
from weft.runtime.request_server import RequestServer
from weft.runtime.requests import ReceivedRequest
from weft.runtime.settings import Settings
from weft_schemas.errors import ERROR_HEADER, NotFound


class Question(msgspec.Struct, frozen=True):
    text: str = ""


class Answer(msgspec.Struct, frozen=True):
    text: str


def punctuation() -> str:
    return "!"


async def echo(
    asked: ReceivedRequest[Question], end: Annotated[str, Depends(punctuation)]
) -> Answer:
    if asked.request.text == "unknown":
        raise NotFound("there is no such thing")
    return Answer(f"{asked.tenant}/{asked.session}: {asked.request.text}{end}")


class Heard(BaseMiddleware):
    subjects: list[str] = []

    async def on_receive(self) -> None:
        self.subjects.append(self.msg.subject)


async def served() -> Process:
    process = Process("echo", Settings())
    process.broker.add_middleware(Heard)
    await RequestServer(process, "group", joins=False).answer("echo", Question, echo)
    return process


async def request(broker: Any, body: bytes) -> Any:
    return await broker.request(body, "weft-rpc.acme.s1.echo", timeout=60)


async def test_a_handler_gets_its_request_and_what_is_injected_without_a_server() -> None:
    process = await served()
    async with TestNatsBroker(process.broker) as broker:
        reply = await request(broker, b'{"text": "hello"}')
    assert msgspec.json.decode(reply.body, type=Answer).text == "acme/s1: hello!"
    assert Heard.subjects[-1] == "weft-rpc.acme.s1.echo"


async def test_errors_are_replies_with_their_code() -> None:
    process = await served()
    async with TestNatsBroker(process.broker) as broker:
        missing = await request(broker, b'{"text": "unknown"}')
        malformed = await request(broker, b'{"text": 5}')
    assert missing.headers[ERROR_HEADER] == "not_found"
    assert malformed.headers[ERROR_HEADER] == "invalid_input"
    assert "$.text" in msgspec.json.decode(malformed.body)["message"]
    assert b'exception_type="NotFound",handler="weft-rpc.{tenant}.{session}.echo"} 1.0' in (
        generate_latest(process.metrics.registry)
    )


async def test_counters_do_not_grow_with_tenants_and_sessions() -> None:
    process = await served()
    async with TestNatsBroker(process.broker) as broker:
        await request(broker, b"{}")
        before = generate_latest(process.metrics.registry).count(b"\n")
        for number in range(20):
            await broker.request(b"{}", f"weft-rpc.t{number}.s{number}.echo", timeout=60)
    text = generate_latest(process.metrics.registry)
    assert text.count(b"\n") == before
    assert b'handler="weft-rpc.{tenant}.{session}.echo",status="acked"} 21.0' in text


async def test_asyncapi_tells_the_address_and_the_contracts_schema() -> None:
    process = await served()
    document = AsyncAPI(process.broker, schema_version="3.0.0").to_specification().to_jsonable()
    (channel,) = document["channels"].values()
    assert channel["address"] == "weft-rpc.{tenant}.{session}.echo"
    assert "Question" in msgspec.json.encode(document).decode()
