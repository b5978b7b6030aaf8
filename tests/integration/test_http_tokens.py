"""Tokens over HTTP under the shipped permissions: a token may do what its credential may."""

import asyncio
import hashlib
import json
import os
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
from tests.guarded import guarded_server
from tests.integration.command_line import weft
from tests.integration.serving import serving

from weft.client import Client
from weft.http.tracing import Telemetry
from weft.log.topology import provision
from weft.runtime.settings import Settings
from weft.supervision.embedded_server import EmbeddedServer

pytestmark = pytest.mark.asyncio(loop_scope="module")

TOKENS = """
[[token]]
name = "agent"
token = "$AGENT_TOKEN"
tenant = "acme"
user = "acme-agent"
password = "$ACME_AGENT_PASSWORD"
read_log = true

[[token]]
name = "reader"
sha256 = "{sha256}"
tenant = "acme"
user = "acme-reader"
password = "$ACME_READER_PASSWORD"

[[token]]
name = "stray"
token = "token-of-the-stray"
tenant = "rival"
user = "acme-agent"
password = "$ACME_AGENT_PASSWORD"

[[token]]
name = "slow"
token = "token-of-the-slow"
tenant = "acme"
user = "acme-agent"
password = "$ACME_AGENT_PASSWORD"
rate = 1
"""
SAID = '[{"role": "user", "content": "Hello?"}]'
SPAN = {
    "traceId": "0a",
    "spanId": "0b",
    "attributes": [
        {"key": "session.id", "value": {"stringValue": "traced"}},
        {"key": "gen_ai.input.messages", "value": {"stringValue": SAID}},
    ],
}
EXPORT = {"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}
TURN = {"id": "m1", "kind": "user_turn", "text": "Hello?"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def address(tmp_path_factory) -> AsyncIterator[str]:
    folder = tmp_path_factory.mktemp("tokens")
    file = folder / "tokens.toml"
    digest = hashlib.sha256(b"token-of-the-reader").hexdigest()
    file.write_text(TOKENS.replace("{sha256}", digest))
    async with guarded_server(folder / "nats") as server:
        environ = {
            "AGENT_TOKEN": "token-of-the-agent",
            "WEFT_USER": "admin",
            "WEFT_PASSWORD": os.environ["WEFT_ADMIN_PASSWORD"],
        }
        async with serving(server.url, "--tokens", str(file), **environ) as running:
            yield running


def signed(address: str, name: str) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer token-of-the-{name}"}
    return httpx.AsyncClient(base_url=address, headers=headers, timeout=60)


async def test_without_a_known_token_nothing_is_answered(address):
    for name in ("nobody", "", "reader "):
        async with signed(address, f"{name}x") as http:
            reply = await http.get("/v1/sessions")
            assert (reply.status_code, reply.json()["code"]) == (401, "token")
            assert reply.headers["www-authenticate"].startswith("Bearer")
            assert (await http.get("/openapi.json")).status_code == 200


async def test_an_agents_token_publishes_and_reads_its_tenants_events(address):
    async with signed(address, "agent") as http:
        ack = (await http.post("/v1/sessions/s1/items", json=TURN)).json()["ack"]
        assert ack["count"] == 1
        page = (await http.get("/v1/sessions/s1/events")).json()
        assert [one["event"]["id"] for one in page["events"]] == ["m1"]


async def test_a_readers_token_publishes_nothing_and_reads_no_log(address):
    async with signed(address, "reader") as http:
        for reply in (
            await http.post("/v1/sessions/s2/items", json=TURN),
            await http.get("/v1/sessions/s1/events"),
            await http.get("/v1/sessions/s1/events", headers={"Accept": "text/event-stream"}),
        ):
            assert (reply.status_code, reply.json()["code"]) == (403, "forbidden")


async def test_a_token_of_another_tenants_name_reaches_nothing_of_it(address):
    async with signed(address, "stray") as http:
        reply = await http.post("/v1/sessions/s1/items", json=TURN)
        assert (reply.status_code, reply.json()["code"]) == (403, "forbidden")


async def test_traces_are_taken_though_no_replica_says_what_the_log_holds(address):
    async with signed(address, "agent") as http:
        assert (await http.post("/v1/traces", json=EXPORT)).status_code == 200
        page = (await http.get("/v1/sessions/traced/events")).json()
        assert [one["event"]["text"] for one in page["events"]] == ["Hello?"]
    async with signed(address, "reader") as http:
        other = json.dumps(EXPORT).replace("Hello?", "Good-bye?")
        headers = {"Content-Type": "application/json"}
        reply = await http.post("/v1/traces", content=other, headers=headers)
        assert (reply.status_code, reply.json()["code"]) == (403, "forbidden")


async def test_traces_are_taken_of_a_credential_that_may_only_publish(tmp_path):
    rules = (
        "authorization { users = [ { user: agent, password: pw, permissions: {"
        ' publish: { allow: [">"], deny: ["weft-rpc.>"] } } } ] }'
    )
    async with EmbeddedServer(tmp_path / "nats", extra=rules) as server:
        settings = Settings(nats_url=server.url, user="agent", password="pw")
        async with Client(settings) as client:
            await provision(client.connection)
            export = json.dumps(EXPORT).encode()
            assert await Telemetry().take_traces(client, export, "application/json")
            texts = [record.event().text async for record in client.events("traced")]
    assert texts == ["Hello?"]


async def test_nobody_behind_a_request_is_told_as_such(address):
    """No replica runs here."""
    async with signed(address, "agent") as http:
        reply = await http.get("/v1/sessions")
        assert (reply.status_code, reply.json()["retryable"]) == (503, True)
        assert reply.headers["retry-after"] == "1"


async def test_who_asks_too_often_is_told_when_to_come_again(address):
    async with signed(address, "slow") as http:
        replies = [await http.get("/v1/sessions/s1/events") for _ in range(4)]
        assert [reply.status_code for reply in replies[:2]] == [403, 403]
        late = [reply for reply in replies if reply.status_code == 429]
        assert late
        assert late[0].json()["code"] == "rate"
        await asyncio.sleep(int(late[0].headers["retry-after"]))
        assert (await http.get("/v1/sessions/s1/events")).status_code == 403


async def test_without_tokens_only_loopback_is_listened_on():
    refused = await weft("serve", "--host", "0.0.0.0", "--port", "0")
    assert refused.code == 2
    assert "give --tokens FILE" in refused.err
