"""Any language: publish and compile with a bare NATS client and the JSON Schemas alone.

The client side of this file imports nothing of weft; what it knows is in schemas/.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from typing import Any

import nats
import pytest
import pytest_asyncio
from tests.data import ROOT
from tests.integration.command_line import COMPILES, services

import jsonschema

pytestmark = pytest.mark.asyncio(loop_scope="module")

SCHEMAS = ROOT / "schemas" / "jsonschema"
PATIENCE_SECONDS = 60.0
"""The longest that a request may ask to be waited for."""


def checked(name: str, value: dict[str, Any]) -> dict[str, Any]:
    """The value, if it fits the schema of that name."""
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(value)
    return value


async def publish(js: Any, session: str, item: dict[str, Any]) -> int:
    payload = json.dumps(checked("item", {"type": "item", **item})).encode()
    headers = {"Nats-Msg-Id": hashlib.sha256(session.encode() + payload).hexdigest()}
    subject = f"weft.acme.{session}.in.{item['kind']}"
    return (await js.publish(subject, payload, headers=headers)).seq


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Any]:
    async with services(tmp_path_factory.mktemp("up") / "data", *COMPILES) as url:
        connected = await nats.connect(url)
        yield connected
        await connected.close()


async def test_publish_and_compile_without_weft(client: Any) -> None:
    js = client.jetstream()
    call = {"tool_name": "weather", "call_id": "c1", "arguments": {"city": "Oslo"}}
    await publish(js, "s1", {"id": "u", "kind": "user_turn", "text": "weather in Oslo?"})
    await publish(js, "s1", {"id": "c", "kind": "tool_call", "parent_id": "u", "metadata": call})
    last = await publish(
        js, "s1", {"id": "r", "kind": "tool_result", "parent_id": "c", "text": "3 degrees"}
    )
    request = checked(
        "compile_request",
        {"phase": "answer", "budget": 500, "after": last, "timeout": PATIENCE_SECONDS},
    )
    reply = await compiled(client, request)
    assert not (reply.headers or {}).get("Weft-Error")
    pack = checked("context_pack", json.loads(reply.data))
    assert "3 degrees" in pack["prompt"]
    assert "weather in Oslo?" in pack["prompt"]
    assert pack["pending"] == []
    assert pack["sequence"] >= last
    await refused(client)


async def compiled(client: Any, request: dict[str, Any], session: str = "s1") -> Any:
    payload, subject = json.dumps(request).encode(), f"weft-rpc.acme.{session}.compile"
    return await client.request(subject, payload, timeout=PATIENCE_SECONDS + 30)


async def refused(client: Any) -> None:
    reply = await client.request("weft-rpc.acme.nobody.compile", b'{"phase":"answer"}', timeout=30)
    assert reply.headers["Weft-Error"] == "not_found"
    error = checked("error", json.loads(reply.data))
    assert error["code"] == "not_found"
    reply = await client.request("weft-rpc.acme.s1.compile", b'{"phase":"dream"}', timeout=30)
    assert reply.headers["Weft-Error"] == "invalid_input"
    assert "phase" in json.loads(reply.data)["message"]


async def test_what_the_schema_refuses_is_parked_and_holds_nobody_up(client: Any) -> None:
    js = client.jetstream()
    await js.publish("weft.acme.s2.in.tool_result", b'{"type":"item","id":7}')
    last = await publish(js, "s2", {"id": "u", "kind": "user_turn", "text": "hello"})
    request = {"phase": "answer", "after": last, "timeout": PATIENCE_SECONDS}
    reply = await compiled(client, request, "s2")
    assert "hello" in json.loads(reply.data)["prompt"]
    status: dict[str, Any] = {}
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not status.get("parked"):
            reply = await client.request("weft-rpc.acme.s2.status", b"{}", timeout=30)
            status = checked("status_reply", json.loads(reply.data))
            await asyncio.sleep(0.1)
    assert [letter["worker"] for letter in status["dead_letters"]] == ["firewall"]
