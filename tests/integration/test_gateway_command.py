"""`weft gateway` as people run it: on an mcp.json, with a weft of its own, ended, started again."""

import asyncio
import json
import os
import re
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from tests.gateway import called, odd_server, text_of
from tests.integration.command_line import weft
from tests.integration.mcp_program import over_stdio
from tests.integration.preloaded import program, shared_preloaded

from weft.file_lock import FileLock
from weft.gateway.data_folder import DataFolder
from weft.gateway.log import deployment
from weft.gateway.log.deployment import GatewayDeployment
from weft.gateway.weft_server import WeftServer
from weft.log.secret_check import DeploymentSecret
from weft.log.topology import provision
from weft.log.transport import connect
from weft.runtime.settings import Settings
from weft.supervision.embedded_server import EmbeddedServer
from weft.supervision.up import running
from weft_schemas.errors import Unavailable

HANDLE = re.compile(r"art:[a-z2-7]{10}")


WEFT = "tests.integration.weft_alone"


def environ() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key != "WEFT_NATS_URL"}


def arguments(data: Path, config: Path, *more: str) -> list[str]:
    return ["gateway", "--config", str(config), "--data", str(data), "--mode", "search", *more]


def host(data: Path, config: Path, *more: str) -> Client:
    return Client(over_stdio(WEFT, *arguments(data, config, *more), env=environ()), cache=None)


def real_host(data: Path, config: Path, *more: str) -> Client:
    """One that starts its gateway itself, as all real ones do."""
    command = ["-m", WEFT, *arguments(data, config, *more)]
    params = StdioServerParameters(
        command=sys.executable, args=command, env=environ(), cwd=Path(__file__).parents[2]
    )
    return Client(params, cache=None)


async def test_a_handle_outlives_its_gateway_and_is_good_for_another_host(tmp_path: Path) -> None:
    odd = odd_server()
    config = tmp_path / "mcp.json"
    entry = {"command": odd.command, "args": list(odd.args)}
    itself = {"command": "weft", "args": ["gateway", "--config", str(config)]}
    config.write_text(json.dumps({"mcpServers": {"odd": entry, "weft": itself}}))
    data = tmp_path / "data"
    made, leave = asyncio.get_running_loop().create_future(), asyncio.Event()

    async def first() -> None:
        async with real_host(data, config, "--session", "first") as client:
            shown = text_of(await called(client, "odd:big"))
            made.set_result(HANDLE.search(shown).group())
            await leave.wait()

    started = asyncio.create_task(first())
    handle = await made
    with anyio.fail_after(60):  # what a gateway did is written shortly after it
        told = await weft("gateway", "status", "--data", str(data))
        while ", 1 call," not in told.out:
            await asyncio.sleep(0.2)
            told = await weft("gateway", "status", "--data", str(data))
    state = (await weft("gateway", "status", "--json", "--data", str(data))).json
    log = state["gateways"][0]["log"]
    assert f"weft events --nats {log} --session" in told.err + told.out
    assert re.search(r"odd +called +\d+ tools, 1 call, 0 errors, 0 failures\n", told.out)
    (server,) = state["gateways"][0]["servers"]
    assert (server["name"], server["state"], server["calls"]) == ("odd", "called", 1)
    # On the first one's weft.
    async with real_host(data, config, "--session", "second") as client:
        look = {"handle": handle, "view": "json", "args": {"path": "orders[7]"}}
        assert '"o7"' in text_of(await client.call_tool("look_into_result", look))
        leave.set()
        await started  # with it the weft that it had started; the second one takes it over
        part = {"$weft": handle, "path": "orders[1999]"}
        with anyio.fail_after(60):
            while '"id": "o1999"' not in text_of(await called(client, "odd:echo", value=part)):
                await asyncio.sleep(0.2)
        url = (data / "gateway" / "address").read_text()
        events = await weft("events", "--session", "first", "--json", url=url)
        assert '"tool_name":"odd:big"' in events.out


async def test_a_gateway_that_is_killed_takes_nothing_with_it(tmp_path: Path) -> None:
    """Its weft is taken over by the other gateway of the folder, with all that it had taken."""
    odd = odd_server()
    config, data = tmp_path / "mcp.json", tmp_path / "data"
    entry = {"command": odd.command, "args": list(odd.args)}
    config.write_text(json.dumps({"mcpServers": {"odd": entry}}))
    made, leave = asyncio.get_running_loop().create_future(), asyncio.Event()

    async def first() -> None:
        async with host(data, config, "--session", "first") as client:
            made.set_result(text_of(await called(client, "odd:big")))
            await leave.wait()

    started = asyncio.create_task(first())
    handle = HANDLE.search(await made).group()
    (state,) = DataFolder(data).running()
    async with host(data, config, "--session", "second") as client:
        assert text_of(await called(client, "odd:echo", text="x")) == '{"text": "x"}'
        os.kill(state.pid, signal.SIGKILL)
        part = {"$weft": handle, "path": "orders[1999]"}
        with anyio.fail_after(120):
            while '"id": "o1999"' not in text_of(await called(client, "odd:echo", value=part)):
                await asyncio.sleep(0.2)
        url = (data / "gateway" / "address").read_text()
        events = await weft("events", "--session", "first", "--json", url=url)
        assert '"tool_name":"odd:big"' in events.out
    leave.set()
    await asyncio.gather(started, return_exceptions=True)


async def test_weft_as_a_server_remembers_from_session_to_session(tmp_path: Path) -> None:
    async with EmbeddedServer(tmp_path / "nats") as server:
        settings = Settings(
            nats_url=server.url, data_dir=tmp_path / "data", fingerprint_key="k" * 16
        )
        counts = {"firewall": 1, "memory": 1, "indexer": 1, "compiler": 1}
        async with running(settings, counts, embedded=False, preloaded=shared_preloaded()):
            behind = GatewayDeployment(settings, named=True)
            async with behind:
                first = WeftServer(behind, "user:ada", "first").server()
                async with Client(first, cache=None) as client:
                    names = [tool.name for tool in (await client.list_tools()).tools]
                    assert names == [
                        "publish", "compile", "remember", "recall", "correct", "forget",
                        "look_into_result",
                    ]  # fmt: skip
                    for tool, key, value in (
                        ("remember", "preferred airport", "FRA"),
                        ("remember", "seat", "aisle"),
                        ("correct", "preferred airport", "HAM"),
                    ):
                        await client.call_tool(tool, {"key": key, "value": value})
                    told = text_of(await client.call_tool("forget", {"key": "Seat"}))
                    assert told == "forgotten for user:ada: seat"
                    # At once, without what was withdrawn, and each fact once.
                    told = await recalled(client)
                    assert told.count("preferred_airport=HAM") == 1
                    assert "seat" not in told
                    told = text_of(await client.call_tool("forget", {"key": "meal"}))
                    assert "nothing was remembered for user:ada under meal" in told
                    assert "preferred_airport=HAM" in told
                    secret = {"key": "bank password", "value": "swordfish"}
                    kept = await client.call_tool("remember", secret)
                    assert kept.is_error
                    assert "not remembered" in text_of(kept)
                    long = {"key": "diary", "value": "day " * 100}
                    told = text_of(await client.call_tool("remember", long))
                    assert "cut" in told
                    assert len(told) < 400
                    said = {"text": "The harbour opens at six.", "kind": "user_turn"}
                    assert "sequence" in text_of(await client.call_tool("publish", said))
                    compiled = await client.call_tool("compile", {"query": "harbour"})
                    assert "The harbour opens at six." in text_of(compiled)
                second = WeftServer(behind, "user:ada", "second").server()
                async with Client(second, cache=None) as client:
                    with anyio.fail_after(60):
                        while "HAM" not in (told := await recalled(client)):
                            await asyncio.sleep(0.2)
                    assert "FRA" not in told
                    assert "aisle" not in told
                    wrong = await client.call_tool("remember", {"key": "seat"})
                    assert "'value' is a required property" in text_of(wrong)
                other = WeftServer(behind, "user:bob", "third").server()
                async with Client(other, cache=None) as client:
                    assert "HAM" not in await recalled(client)


async def recalled(client: Client) -> str:
    return text_of(await client.call_tool("recall", {"query": "which airport and seat?"}))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("command", ["gateway", "mcp"])
async def test_it_ends_when_it_is_told_to_though_its_host_keeps_stdin_open(
    tmp_path: Path, command: str, number: signal.Signals
) -> None:
    config = tmp_path / "mcp.json"
    config.write_text('{"mcpServers": {}}')
    own = ["--config", str(config)] if command == "gateway" else ["--scope", "user:ada"]
    own += ["--data", str(tmp_path / "data")]
    process = await program(WEFT, command, *own, env=environ(), stdin=PIPE, stdout=PIPE)
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }}  # fmt: skip
    process.stdin.write(json.dumps(asked).encode() + b"\n")
    with anyio.fail_after(60):
        assert b'"protocolVersion"' in await process.stdout.readline()
        process.send_signal(number)
        assert await process.wait() == 0


async def test_the_status_tells_the_address_that_was_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "mcp.json"
    config.write_text('{"mcpServers": {}}')
    data = str(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    command = ("gateway", "--config", "mcp.json", "--data", data, "--http", "0")
    process = await program(WEFT, *command, env=environ(), stdout=DEVNULL, stderr=PIPE)
    served = ""
    with anyio.fail_after(60):
        while "serving" not in served:
            served = (await process.stderr.readline()).decode()
        (address,) = re.findall(r"http://127\.0\.0\.1:\d+/mcp", served)
        while True:
            (one,) = (await weft("gateway", "status", "--json", "--data", data)).json["gateways"]
            if one["address"] == address:
                break
            await asyncio.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        await process.wait()
    assert one["config"] == str(config)


async def test_a_log_whose_secret_is_not_here_is_told_at_the_start_and_to_hosts(
    tmp_path: Path,
) -> None:
    config, data = tmp_path / "mcp.json", str(tmp_path / "data")
    config.write_text('{"mcpServers": {}}')
    async with EmbeddedServer(tmp_path / "nats") as server:
        connection = await connect(server.url)
        await provision(connection, secret=DeploymentSecret("k" * 64, is_given=True))
        await connection.close()
        command = ("gateway", "--config", str(config), "--data", data, "--http", "0")
        environment = {**environ(), "WEFT_NATS_URL": server.url}
        environment.pop("WEFT_FINGERPRINT_KEY", None)
        process = await program(WEFT, *command, env=environment, stdout=DEVNULL, stderr=PIPE)
        said = ""
        with anyio.fail_after(60):
            while "serving" not in said or "weft: no call can be made" not in said:
                said += (await process.stderr.readline()).decode()
            assert re.search(r"no call can be made without the log: .*WEFT_FINGERPRINT_KEY", said)
            async with Client(re.search(r"http://\S+/mcp", said).group(), cache=None) as client:
                for asked in (client.list_tools(), client.list_prompts()):
                    with pytest.raises(MCPError, match="set its WEFT_FINGERPRINT_KEY"):
                        await asked
            while "whose secret is not here" not in (
                shown := (await weft("gateway", "status", "--data", data)).out
            ):
                await asyncio.sleep(0.1)
            process.send_signal(signal.SIGTERM)
            await process.wait()
    assert ", no log: this log belongs to a deployment" in shown


async def test_a_port_that_is_taken_is_named_before_anything_starts(tmp_path: Path) -> None:
    config, data = tmp_path / "mcp.json", tmp_path / "data"
    config.write_text('{"mcpServers": {}}')
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = await weft("gateway", "--config", str(config), "--data", str(data), "--http", port)
    assert ran.code == 2
    assert ran.err == (
        f"weft: cannot listen on 127.0.0.1:{port}: Address already in use; choose another --http\n"
    )
    assert not data.exists()


async def test_a_weft_on_the_usual_port_is_used_and_another_nats_server_is_not(
    tmp_path: Path,
) -> None:
    async with EmbeddedServer(tmp_path / "nats") as server:
        settings = Settings(
            nats_url=server.url, data_dir=tmp_path / "data", fingerprint_key="k" * 16
        )
        async with GatewayDeployment(settings, named=False) as own:  # that server has no weft's log
            assert own.is_own
            assert own.settings.nats_url != server.url
        connection = await connect(server.url)
        await provision(connection)
        await connection.close()
        async with GatewayDeployment(settings, named=False) as found:
            assert (found.is_own, found.settings.nats_url) == (False, server.url)


async def test_a_weft_that_does_not_come_up_is_told_with_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployment, "_START_SECONDS", 0.3)
    (tmp_path / "gateway").mkdir()
    lock = FileLock(tmp_path / "gateway" / "keeper.lock")  # of a gateway whose weft hangs
    assert lock.acquire()
    settings = Settings(nats_url="nats://127.0.0.1:1", data_dir=tmp_path, fingerprint_key="k" * 16)
    with pytest.raises(Unavailable, match=f"weft of {tmp_path} did not answer .* end that gateway"):
        async with GatewayDeployment(settings, named=False):
            pass
    lock.release()
