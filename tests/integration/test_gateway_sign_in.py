"""Signing in to a server at an address in a browser: `weft gateway login` against the SDK's own
authorization server, and gateways that use what came of it."""

import asyncio
import fcntl
import json
import os
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import msgspec
import pytest
from mcp import Client
from tests.gateway import called, gateway, host, text_of
from tests.gateway_http_server import CLIENT, SECRET, at_port
from tests.integration.command_line import weft
from tests.integration.mcp_program import over_stdio
from tests.integration.preloaded import program
from tests.integration.test_gateway_address import small

from weft.gateway.configuration.file import config_from
from weft.gateway.data_folder import DataFolder
from weft.gateway.oauth.token_file import read_sign_in
from weft.gateway.oauth.token_renewal import SignedInAuth
from weft.log.connection import Connection
from weft.supervision.embedded_server import EmbeddedServer
from weft.supervision.reserved_ports import Port
from weft_schemas.errors import ConfigurationError, Unavailable


def config(folder: Path, port: int, transport: str = "http", **options: object) -> Path:
    path = folder / "servers.json"
    server = {"small": {"url": f"http://127.0.0.1:{port}/mcp", "type": transport}}
    path.write_text(json.dumps({"mcpServers": server, "weft": options}))
    return path


async def login(file: Path, data: Path) -> tuple[int, str]:
    """`weft gateway login`, its address opened as a browser opens it; its exit code and words."""
    command = ("gateway", "login", "small", "--config", str(file), "--data", str(data))
    process = await program(
        "weft.cli.main", *command, "--no-browser", env=os.environ, stdout=PIPE, stderr=PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    said = ""
    async with asyncio.timeout(60):
        while line := (await process.stderr.readline()).decode():
            said += line
            if line.startswith("http://"):
                async with httpx2.AsyncClient(follow_redirects=True) as browser:
                    await browser.get(line.strip())
        said += (await process.stdout.read()).decode()
        return await process.wait(), said


async def test_who_signed_in_stays_signed_in(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    """Also when the token runs out, is taken back, or another gateway has renewed it."""
    port = Port().number
    file = config(tmp_path, port)
    async with at_port(port, "sign-in"):
        code, said = await login(file, tmp_path)
        assert (code, "signed in to small" in said) == (0, True), said
        kept = DataFolder(tmp_path).sign_in("small", f"http://127.0.0.1:{port}/mcp")
        assert kept.stat().st_mode & 0o777 == 0o600
        assert kept.parent.stat().st_mode & 0o777 == 0o700
        first, second = gateway(server.url, tmp_path, small(port)), small(port)
        async with (
            first as running,
            host(running) as client,
            gateway(server.url, tmp_path, second) as other,
            host(other) as elsewhere,
        ):
            assert text_of(await called(client, "small:renewed")) == "0"
            assert text_of(await called(elsewhere, "small:revoke")) == "revoked"
            assert text_of(await called(client, "small:renewed")) == "1"
            assert text_of(await called(elsewhere, "small:renewed")) == "1"
        stored = msgspec.json.decode(kept.read_bytes())
        kept.write_bytes(msgspec.json.encode({**stored, "expires_at": 1.0}))
        async with gateway(server.url, tmp_path, small(port)) as later, host(later) as client:
            assert text_of(await called(client, "small:renewed")) == "2"


@asynccontextmanager
async def process(url: str, file: Path, data: Path) -> AsyncIterator[Client]:
    """A gateway in a process of its own, and its host."""
    command = ["gateway", "--config", str(file), "--data", str(data), "--mode", "search"]
    environ = {**os.environ, "WEFT_NATS_URL": url, "WEFT_FINGERPRINT_KEY": "k" * 16}
    async with Client(over_stdio("weft.cli.main", *command, env=environ)) as client:
        yield client


async def test_processes_that_renew_at_once_renew_it_once(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    """The authorization server takes its time, and a refresh token is good once."""
    port = Port().number
    file = config(tmp_path, port)
    async with at_port(port, "sign-in", "thinks"):
        assert (await login(file, tmp_path))[0] == 0
        async with (
            process(server.url, file, tmp_path) as first,
            process(server.url, file, tmp_path) as second,
        ):
            hosts = (first, second) * 4
            for number in range(3):
                assert text_of(await called(first, "small:revoke")) == "revoked"
                results = await asyncio.gather(*(called(one, "small:renewed") for one in hosts))
                assert [text_of(one) for one in results] == [str(number + 1)] * len(hosts)


async def test_what_a_cancelled_call_renewed_is_kept(tmp_path: Path) -> None:
    """The authorization server has given the only token that is good from then on."""
    port = Port().number
    async with at_port(port, "sign-in", "thinks"):
        assert (await login(config(tmp_path, port), tmp_path))[0] == 0
        kept = DataFolder(tmp_path).sign_in("small", f"http://127.0.0.1:{port}/mcp")
        before = msgspec.json.decode(kept.read_bytes())
        kept.write_bytes(msgspec.json.encode({**before, "expires_at": 1.0}))
        async with httpx2.AsyncClient(auth=SignedInAuth(small(port), kept)) as client:
            call = asyncio.create_task(client.get(small(port).url))
            lock = kept.with_suffix(".lock")
            async with asyncio.timeout(20):
                while not is_locked(lock):
                    await asyncio.sleep(0.01)
                call.cancel()
                await asyncio.gather(call, return_exceptions=True)
                while is_locked(lock):
                    await asyncio.sleep(0.01)
        after = read_sign_in(kept)
        assert after is not None
        assert after.refresh_token != before["tokens"]["refresh_token"]


def is_locked(path: Path) -> bool:
    try:
        file = path.open("r+")
    except FileNotFoundError:
        return False
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


async def test_an_authorization_server_that_is_down_for_a_while_ends_no_sign_in(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    port = Port().number
    async with at_port(port, "sign-in"):
        await login(config(tmp_path, port), tmp_path)
        async with gateway(server.url, tmp_path, small(port)) as running, host(running) as client:
            await called(client, "small:breaks", times=50)
            down = await called(client, "small:renewed")
            assert down.is_error
            assert "gave no token (HTTP 503); call again later" in text_of(down)
            async with asyncio.timeout(30):
                while (result := await called(client, "small:renewed")).is_error:
                    pass
            assert text_of(result) == "1"


async def test_who_signed_out_is_not_signed_in_by_a_gateway_that_runs(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    port = Port().number
    file = config(tmp_path, port)
    async with at_port(port, "sign-in"):
        await login(file, tmp_path)
        async with gateway(server.url, tmp_path, small(port)) as running, host(running) as client:
            assert text_of(await called(client, "small:renewed")) == "0"
            where = ("--config", str(file), "--data", str(tmp_path))
            assert (await weft("gateway", "logout", "small", *where)).code == 0
            over = await called(client, "small:renewed")
            assert over.is_error
            assert "nobody is signed in to it" in text_of(over)
        kept = DataFolder(tmp_path).sign_in("small", f"http://127.0.0.1:{port}/mcp")
        assert not kept.exists()


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_sign_in_that_is_over_says_how_to_sign_in_again(
    log: Connection, server: EmbeddedServer, tmp_path: Path, transport: str
) -> None:
    port = Port().number
    file = config(tmp_path, port, transport)
    spec = msgspec.structs.replace(small(port), transport=transport)
    async with at_port(port, "sign-in", transport):
        async with gateway(server.url, tmp_path, spec) as running:
            with pytest.raises(Unavailable, match="weft gateway login small"):
                await running.upstreams["small"].client()
            await login(file, tmp_path)
            async with asyncio.timeout(20):
                while not running.catalogue.has("small:sign_out"):  # by itself
                    await asyncio.sleep(0.05)
            async with host(running) as client:
                assert text_of(await called(client, "small:sign_out")) == "signed out"
                over = await called(client, "small:process")
                assert over.is_error
                assert "weft gateway login small" in text_of(over)
                await login(file, tmp_path)
                assert text_of(await called(client, "small:process")).isdecimal()
        out = await weft(
            "gateway", "logout", "small", "--config", str(file), "--data", str(tmp_path)
        )
        assert "signed out" in out.out


async def test_a_client_that_was_registered_by_hand(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    port, back = Port().number, Port().number
    async with at_port(port, "sign-in", "static", str(back)):
        code, said = await login(config(tmp_path, port), tmp_path)
        assert (code != 0, "client_id" in said) == (True, True), said
        given = {"client_id": CLIENT, "client_secret": SECRET, "port": back}
        code, said = await login(config(tmp_path, port, sign_in={"small": given}), tmp_path)
        assert code == 0, said
        async with gateway(server.url, tmp_path, small(port)) as running, host(running) as client:
            await called(client, "small:revoke")
            assert text_of(await called(client, "small:renewed")) == "1"


async def test_a_refusal_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    port = Port().number
    async with at_port(port, "sign-in", "refuses"):
        code, said = await login(config(tmp_path, port), tmp_path)
    assert code != 0
    assert "the authorization server refused (access_denied)" in said
    assert "Traceback" not in said
    assert not list((tmp_path / "gateway" / "sign-in").iterdir())


async def test_a_server_without_sign_in_needs_none(tmp_path: Path) -> None:
    port = Port().number
    async with at_port(port):
        code, said = await login(config(tmp_path, port), tmp_path)
    assert (code, "without signing in" in said) == (0, True), said


def test_tokens_belong_to_one_address_of_a_server(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    assert folder.sign_in("a", "https://one/mcp") != folder.sign_in("a", "https://two/mcp")
    assert folder.sign_in("a", "https://one/mcp") != folder.sign_in("b", "https://one/mcp")


@pytest.mark.parametrize(
    ("entry", "options", "message"),
    [
        ({"command": "x"}, {"sign_in": {"s": {"client_id": "c"}}}, "takes no `oauth` or `sign_in`"),
        ({"url": "https://a/mcp"}, {"sign_in": {"other": {"client_id": "c"}}}, "no server 'other'"),
        (
            {"url": "https://a/mcp"},
            {
                "sign_in": {"s": {"client_id": "c"}},
                "oauth": {"s": {"issuer": "https://i", "client_id": "c", "client_secret": "s"}},
            },
            "has both",
        ),
    ],
)
def test_what_cannot_be_meant_is_an_error(
    entry: dict[str, str], options: dict[str, object], message: str
) -> None:
    text = json.dumps({"mcpServers": {"s": entry}, "weft": options})
    with pytest.raises(ConfigurationError, match=message):
        config_from(text, "mcp.json")
