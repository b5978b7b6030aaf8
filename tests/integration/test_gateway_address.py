"""Servers at an address that refuse, end in a call and come back: clear errors, and the gateway
connects again by itself."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from tests.gateway import LEFT_SOCKETS, QUICK, called, gateway, host, text_of
from tests.gateway_http_server import CLIENT, SECRET, at_port

from weft.gateway.configuration.config import ClientCredentials, ServerSpec
from weft.log.connection import Connection
from weft.supervision.embedded_server import EmbeddedServer
from weft.supervision.reserved_ports import Port
from weft_schemas.errors import Unavailable

pytestmark = LEFT_SOCKETS


def small(port: int, **limits: Any) -> ServerSpec:
    return ServerSpec(
        name="small",
        transport="http",
        url=f"http://127.0.0.1:{port}/mcp",
        limits=msgspec.structs.replace(QUICK, **limits),
    )


@pytest.mark.parametrize("code", [-32000, -32001])
async def test_its_own_error_is_no_lost_connection_whatever_its_code(
    log: Connection, server: EmbeddedServer, tmp_path: Path, code: int
) -> None:
    port = Port().number
    async with (
        at_port(port),
        gateway(server.url, tmp_path, small(port)) as running,
        host(running) as client,
    ):
        refused = text_of(await called(client, "small:refuses", code=code))
        assert refused == "small:refuses: the quota is used up"
        assert running.upstreams["small"].failures == 0


@pytest.mark.parametrize("era", ["current", "handshake"])
async def test_one_that_ends_in_a_call_and_comes_back_is_connected_again(
    log: Connection, server: EmbeddedServer, tmp_path: Path, era: str
) -> None:
    port = Port().number
    async with (
        at_port(port, era),
        gateway(server.url, tmp_path, small(port, backoff_seconds=0)) as running,
        host(running) as client,
    ):
        first = text_of(await called(client, "small:process"))
        ended = await called(client, "small:dies")
        assert ended.is_error
        assert "whether it did what was asked is unknown" in text_of(ended)
        away = await called(client, "small:process")
        assert away.is_error
        assert "server 'small' " in text_of(away)
        async with at_port(port, era):
            again = text_of(await called(client, "small:process"))
            assert again.isdecimal()
            assert again != first


@pytest.mark.parametrize("era", ["current", "handshake"])
async def test_one_that_was_started_again_between_two_calls_answers_the_second(
    log: Connection, server: EmbeddedServer, tmp_path: Path, era: str
) -> None:
    port = Port().number
    made = gateway(server.url, tmp_path, small(port))
    async with contextlib.AsyncExitStack() as open_first:
        await open_first.enter_async_context(at_port(port, era))
        async with made as running, host(running) as client:
            assert (running.upstreams["small"].manifest.protocol < "2026") == (era == "handshake")
            first = text_of(await called(client, "small:process"))
            await open_first.aclose()
            async with at_port(port, era):
                again = text_of(await called(client, "small:process"))
                assert again.isdecimal()
                assert again != first


def protected(port: int, **other: Any) -> ServerSpec:
    given = {"issuer": f"http://127.0.0.1:{port}/", "client_id": CLIENT, "client_secret": SECRET}
    return msgspec.structs.replace(small(port), oauth=ClientCredentials(**{**given, **other}))


@pytest.mark.parametrize("secret_in", ["header", "body"])
async def test_one_behind_an_authorization_server_gets_a_token_and_another_when_that_is_revoked(
    log: Connection, server: EmbeddedServer, tmp_path: Path, secret_in: str
) -> None:
    port = Port().number
    async with (
        at_port(port, "oauth"),
        gateway(server.url, tmp_path, protected(port, secret_in=secret_in)) as running,
        host(running) as client,
    ):
        assert text_of(await called(client, "small:revoke")) == "revoked"
        assert text_of(await called(client, "small:process")).isdecimal()
        assert running.upstreams["small"].failures == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"client_secret": "another-secret-of-the-tests"}, "401"),
        ({"issuer": "http://127.0.0.1:1"}, "issuer"),
    ],
)
async def test_credentials_that_are_not_taken_are_told_without_the_secret(
    log: Connection, server: EmbeddedServer, tmp_path: Path, wrong: dict[str, str], message: str
) -> None:
    port = Port().number
    async with (
        at_port(port, "oauth"),
        gateway(server.url, tmp_path, protected(port, **wrong)) as running,
    ):
        with pytest.raises(Unavailable, match=message) as caught:
            await running.upstreams["small"].client()
        assert "secret-of-the-tests" not in str(caught.value)


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_without_credentials_it_says_what_is_missing(
    log: Connection, server: EmbeddedServer, tmp_path: Path, transport: str
) -> None:
    port = Port().number
    spec = msgspec.structs.replace(small(port), transport=transport)
    async with at_port(port, "oauth", transport), gateway(server.url, tmp_path, spec) as running:
        with pytest.raises(Unavailable, match=r"not let this gateway in \(HTTP 401\); sign in"):
            await running.upstreams["small"].client()


@pytest.mark.parametrize("era", ["current", "handshake"])
@pytest.mark.parametrize("protocol", ["legacy", "2026-07-28"])
async def test_what_a_host_cancels_is_cancelled_at_the_server(
    log: Connection, server: EmbeddedServer, tmp_path: Path, era: str, protocol: str
) -> None:
    port = Port().number
    async with (
        at_port(port, era),
        gateway(server.url, tmp_path, small(port)) as running,
        host(running, protocol) as client,
    ):
        call = asyncio.create_task(called(client, "small:waits"))
        with anyio.fail_after(20):
            while "waits" not in text_of(await called(client, "small:waited")):
                await asyncio.sleep(0.02)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            while "was cancelled" not in text_of(await called(client, "small:waited")):
                await asyncio.sleep(0.02)
        assert running.upstreams["small"].failures == 0
