"""Servers that hang, end, flood, break the wire or turn: a clear error for the one call, and nobody
else is disturbed. Hosts that leave, and several at once."""

import asyncio
import resource
from pathlib import Path

import anyio
import msgspec
import pytest
from mcp_types import CreateMessageResult, TextContent
from tests.gateway import QUICK, called, gateway, host, logged, odd_server, text_of
from tests.gateway_server import KEY

from weft.gateway.data_folder import DataFolder, PinFile
from weft.gateway.hosts.host import Host
from weft.gateway.log import host_log
from weft.gateway.tools.quarantine import approved
from weft.log.connection import Connection
from weft.log.topology import provision
from weft.log.transport import connect
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import Unavailable
from weft_schemas.items import ContextItem

SHORT = msgspec.structs.replace(QUICK, call_seconds=1.0, message_bytes=8 << 20)


async def test_a_server_that_fails_in_a_call_costs_that_call_alone(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    # A flood is read for longer than the second after which a silent server is given up.
    flooded = msgspec.structs.replace(SHORT, call_seconds=QUICK.call_seconds)
    servers = [
        odd_server("silent", limits=SHORT),
        odd_server("odd", limits=flooded),
        odd_server("other", "collides"),
    ]
    async with (
        gateway(server.url, tmp_path, *servers, collisions="allow") as running,
        host(running) as client,
    ):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for name, tool, told in (
            ("silent", "silent", "gave no answer in 1 s"),
            ("odd", "dies", "(it closed the connection; it last said: out of memory)"),
            ("odd", "floods", "it sent a message of more than 8,388,608 bytes"),
            ("odd", "garbage", "it sent what is no JSON-RPC message"),
        ):
            failed, fine = await asyncio.gather(
                called(client, f"{name}:{tool}"), called(client, "other:get_current_time")
            )
            assert failed.is_error
            assert told in text_of(failed)
            assert text_of(fine) == "no tool get_current_time"
            echoed = await called(client, f"{name}:echo", text=tool)
            assert text_of(echoed) == f'{{"text": "{tool}"}}'
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < 200 * 1024  # KiB, of a gigabyte
        assert running.upstreams["other"].failures == 0
    refused = [item.text for item in await logged(log) if item.metadata.get("refused")]
    assert len(refused) == 4


@pytest.mark.parametrize("code", [-32000, -32001])
async def test_a_servers_own_error_is_no_lost_connection_whatever_its_code(
    log: Connection, server: EmbeddedServer, tmp_path: Path, code: int
) -> None:
    """The SDK's client says with the same codes that the connection is lost or no answer came."""
    servers = [odd_server("odd"), odd_server("brief", "brief")]
    async with (
        gateway(server.url, tmp_path, *servers, collisions="allow") as running,
        host(running) as client,
    ):
        await called(client, "odd:counts")
        for name in ("odd", "brief"):  # which ends as it has answered
            refused = await called(client, f"{name}:fails", code=code)
            assert refused.is_error
            assert text_of(refused).startswith(f"{name}:fails: no: ")
            assert running.upstreams[name].errors == 1
        assert text_of(await called(client, "odd:counts")) == "2"  # in the same process
        assert running.upstreams["odd"].failures == 0


async def test_a_server_that_cannot_start_is_told_and_tried_later(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    quick = msgspec.structs.replace(QUICK, start_seconds=0.3, backoff_seconds=30)
    mute = odd_server("mute", "mute", limits=quick)
    missing = msgspec.structs.replace(mute, name="missing", command="no-such-server")
    async with gateway(server.url, tmp_path, mute, missing, odd_server()) as running:
        told = {name: one.last_error for name, one in running.upstreams.items()}
        assert told["mute"] == "it did not introduce itself in 0.3 s"
        assert told["missing"].startswith("'no-such-server' is not installed here")
        with pytest.raises(Unavailable, match="cannot be used"):
            await running.upstreams["mute"].client()  # at once, and then later and later
        with pytest.raises(Unavailable, match=r"failed 2 times .* it is started again in"):
            await running.upstreams["mute"].client()
        async with host(running) as client:
            assert text_of(await called(client, "odd:counts")) == "1"


async def test_a_tool_that_changes_is_quarantined_until_a_person_approves_it(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    odd = odd_server("odd", "changes", cwd=str(tmp_path))
    async with gateway(server.url, tmp_path / "w", odd) as running, host(running) as client:
        pinned = running.catalogue.tools["odd:big"].hash
        (tmp_path / "changed").touch()
        await called(client, "odd:counts")  # whose server then says that its list has changed
        with anyio.fail_after(10):
            while "odd:big" in running.catalogue.tools:
                await asyncio.sleep(0.01)
        refused = text_of(await called(client, "odd:big"))
        assert f"changed since it was pinned as {pinned}" in refused
        found = text_of(await client.call_tool("find_tools", {"query": "returns orders"}))
        assert "odd:big (" not in found
        assert "1 tools are quarantined" in found
        folder = DataFolder(tmp_path / "w")
        pins, let = approved("odd:*", folder.pinned().quarantined, folder.pinned().pins)
        folder.keep_pinned(PinFile(pins))
        assert [one.id for one in let] == ["odd:big"]
        with anyio.fail_after(10):
            while "odd:big" not in running.catalogue.tools:
                await asyncio.sleep(0.01)
        assert '"o3"' in text_of(await called(client, "odd:big", of=9))
        stale = text_of(await called(client, f"odd:big#{pinned}", of=1))
        assert f"has changed since {pinned} and was not called" in stale


async def test_orders_in_a_description_and_a_taken_name_set_a_tool_apart(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    servers = [
        odd_server("a", "collides"),
        odd_server("b", "collides"),
        odd_server("c", "poisoned"),
    ]
    async with gateway(server.url, tmp_path, *servers) as running:
        reasons = {one.id: one.reason for one in running.catalogue.quarantined.values()}
        assert reasons == {
            "b:get_current_time": "it has the name of a:get_current_time",
            "c:notes": "its description gives the model orders",
        }
        assert "a:get_current_time" in running.catalogue.tools


async def test_a_server_asks_the_hosts_model_only_where_the_file_lets_it(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    asked = []

    async def sample(context, params):
        asked.append(params.messages[0].content.text)
        return CreateMessageResult(role="assistant", content=TextContent(text="yes"), model="m")

    servers = [odd_server("plain"), odd_server("let", sampling=True)]
    async with gateway(server.url, tmp_path, *servers, collisions="allow") as running:
        for protocol in ("legacy", "2026-07-28"):
            async with host(running, protocol, sampling_callback=sample) as client:
                refused = await called(client, "plain:asks")
                assert refused.is_error
                assert text_of(await called(client, "let:asks")) == "the model said yes"
        async with host(running) as client:  # which answers nothing
            assert "refused" in text_of(await called(client, "let:asks"))
    assert asked == ["Say yes."] * 2
    names = [item.metadata.get("tool_name") for item in await logged(log)]
    assert names.count("let:sampling/createMessage") == 6  # each question and its answer
    assert names.count("plain:sampling/createMessage") == 4


async def test_a_host_that_leaves_in_a_call_disturbs_nobody(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    async with gateway(server.url, tmp_path, odd_server()) as running, host(running) as stays:
        with anyio.move_on_after(0.5):
            async with host(running, "legacy") as leaves:
                await called(leaves, "odd:slow")
        answers = await asyncio.gather(*(called(stays, "odd:echo", text=str(n)) for n in range(5)))
        assert [text_of(one) for one in answers] == [f'{{"text": "{n}"}}' for n in range(5)]
    cancelled = [item for item in await logged(log) if item.text == "cancelled by the host"]
    assert len(cancelled) == 1


async def test_a_call_is_in_the_log_before_its_failure_however_long_that_takes(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    """A call that only reads is made while it is logged."""
    made = gateway(server.url, tmp_path, odd_server("odd", "vanishes"))
    async with made as running, host(running) as client:
        at_once, reached = running.log.publish, asyncio.Event()

        async def late(host: Host, *items: ContextItem) -> int:
            if items[0].text.startswith("odd:vanishes("):
                await asyncio.wait_for(reached.wait(), 30)
                await asyncio.sleep(0.5)
            return await at_once(host, *items)

        running.log.publish = late  # type: ignore[method-assign]
        waiting = asyncio.create_task(called(client, "odd:vanishes"))
        while running.upstreams["odd"].failures == 0:
            await asyncio.sleep(0.05)
        reached.set()
        assert (await waiting).is_error
    seen = [item.text for item in await logged(log)][-2:]
    assert seen[0].startswith("odd:vanishes(")
    assert "ended in the call" in seen[1]


async def test_a_secret_in_an_error_is_masked(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    script = f"import sys; sys.stdin.readline(); sys.exit('bad key {KEY}')"
    odd = msgspec.structs.replace(odd_server(), args=("-c", script))
    async with gateway(server.url, tmp_path, odd, odd_server("fine")) as running:
        assert KEY not in running.upstreams["odd"].last_error


async def test_a_log_that_is_away_at_the_start_is_opened_when_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_log, "AGAIN_SECONDS", 0.2)
    async with EmbeddedServer(tmp_path / "nats") as own:
        connection = await connect(own.url)
        await provision(connection)
        await own.stop()
        made = gateway(own.url, tmp_path / "w", odd_server(), is_log_awaited=False)
        async with made as running, host(running) as client:
            refused = await called(client, "odd:counts")
            assert refused.is_error
            assert "no nats-server answers" in text_of(refused)
            await own.start()
            with anyio.fail_after(30):
                while (answer := await called(client, "odd:counts")).is_error:
                    await asyncio.sleep(0.2)
            assert text_of(answer) == "1"
        await connection.close()


async def test_without_its_log_nothing_is_called_and_a_result_is_not_lost(
    tmp_path: Path,
) -> None:
    async with EmbeddedServer(tmp_path / "nats") as own:
        connection = await connect(own.url)
        await provision(connection)
        made = gateway(own.url, tmp_path / "w", odd_server())
        async with made as running, host(running) as client:
            behind = await running.log.deployment()
            behind.client._link.publisher.timeout = 1.0  # of fifteen
            call = asyncio.create_task(called(client, "odd:slow"))
            await asyncio.sleep(0.5)
            await own.stop()
            late = text_of(await call)
            assert late.startswith("late\n[weft: the log could not take this result")
            refused = await called(client, "odd:counts")
            assert refused.is_error
            await own.start()
            with anyio.fail_after(30):
                while (answer := await called(client, "odd:counts")).is_error:
                    await asyncio.sleep(0.2)
            assert text_of(answer) == "1"  # what was refused was not made
        await connection.close()
