"""What a server's process may take, and how long it is kept: idle ones end and come back, limits of
memory, processor and files hold from its first instruction on."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from tests.gateway import QUICK, called, gateway, host, json_of, odd_server, text_of
from tests.gateway_server import TOOLS

from weft.gateway.configuration.config import Limits
from weft.gateway.data_folder import DataFolder
from weft.gateway.gateway import Gateway
from weft.gateway.upstream.manifest import spec_digest
from weft.log.connection import Connection
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import Unavailable


def limits(**more: Any) -> Limits:
    return msgspec.structs.replace(QUICK, **more)


async def ended(running: Gateway, name: str) -> None:
    with anyio.fail_after(20):
        while running.upstreams[name].state != "known":
            await asyncio.sleep(0.01)


async def test_an_idle_server_ends_and_the_next_call_starts_it_again(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    servers = [odd_server("idle", limits=limits(idle_seconds=0.3)), odd_server("kept")]
    async with (
        gateway(server.url, tmp_path, *servers, collisions="allow") as running,
        host(running) as client,
    ):
        for _ in range(2):
            assert text_of(await called(client, "idle:slow")) == "late"  # while it works it stays
            assert text_of(await called(client, "idle:counts")) == "1"
            await called(client, "kept:counts")
            await ended(running, "idle")
        both = await asyncio.gather(*(called(client, "idle:counts") for _ in range(2)))
        assert sorted(map(text_of, both)) == ["1", "2"]  # in one process
        assert text_of(await called(client, "kept:counts")) == "3"
        assert running.upstreams["idle"].failures == 0


async def test_a_server_gets_the_environment_of_the_file_alone(
    log: Connection, server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_TOKEN", "the gateway's")
    monkeypatch.setenv("OTHER_SECRET", "the user's")
    odd = odd_server(env={"GIVEN": "the file's"})
    async with gateway(server.url, tmp_path, odd) as running, host(running) as client:
        environ = json_of(await called(client, "odd:environ"))
    assert environ["GIVEN"] == "the file's"
    assert not environ.keys() & {"WEFT_TOKEN", "OTHER_SECRET", "WEFT_FINGERPRINT_KEY"}


async def test_hundreds_of_servers_are_offered_and_one_is_started(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    """From what was learned before; what becomes of each is told apart."""
    many = [odd_server(f"odd{number:03}") for number in range(300)]
    folder = DataFolder(tmp_path)
    async with gateway(server.url, tmp_path / "learned", odd_server()) as running:
        manifest = running.upstreams["odd"].manifest
        assert manifest is not None
    for spec in many[:-1]:
        learned = msgspec.structs.replace(manifest, spec=spec_digest(spec), name=spec.name)
        folder.keep_manifest(spec.name, learned)
    mute = odd_server("mute", "mute", limits=limits(start_seconds=60))
    servers = [*many[:-1], mute]
    starting = gateway(server.url, tmp_path, *servers, collisions="allow", is_learned=False)
    async with starting as running, host(running) as client:
        assert len(running.catalogue.tools) == 299 * len(TOOLS)
        assert text_of(await called(client, "odd123:echo", text="x")) == '{"text": "x"}'
        await running.upstreams["odd007"].client()
        states = Counter(one.state for one in running.upstreams.values())
        assert states == {"known": 297, "called": 1, "started": 1, "configured": 1}
        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert listed == ["find_tools", "call_tool", "look_into_result"]


async def test_a_gateway_ends_without_waiting_for_a_server_that_says_nothing(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    mute = odd_server("mute", "mute", limits=limits(start_seconds=600, call_seconds=600))
    with anyio.fail_after(30):
        async with gateway(server.url, tmp_path, mute, is_learned=False):
            await asyncio.sleep(1)  # it is being started


async def test_calls_at_the_moment_of_its_end_are_answered(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    odd = odd_server(limits=limits(idle_seconds=0.05))
    async with gateway(server.url, tmp_path, odd) as running, host(running) as client:
        for step in range(12):
            assert text_of(await called(client, "odd:echo", text="x")) == '{"text": "x"}'
            await asyncio.sleep(0.04 + step * 0.002)
        assert running.upstreams["odd"].failures == 0


async def test_a_process_has_the_limits_of_the_file(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    wanted = limits(memory_bytes=1 << 30, cpu_seconds=60, open_files=64)
    odd = odd_server(limits=wanted)
    async with gateway(server.url, tmp_path, odd) as running, host(running) as client:
        found = json_of(await called(client, "odd:limits"))
        assert found == {"RLIMIT_AS": 1 << 30, "RLIMIT_CPU": 60, "RLIMIT_NOFILE": 64}


@pytest.mark.parametrize(
    ("tool", "wanted", "message"),
    [
        ("spins", {"cpu_seconds": 1}, "it was ended by SIG"),
        ("hoards", {"memory_bytes": 300 << 20}, "it last said: MemoryError"),
    ],
)
async def test_one_that_takes_too_much_costs_its_own_call(
    log: Connection,
    server: EmbeddedServer,
    tmp_path: Path,
    tool: str,
    wanted: dict[str, int],
    message: str,
) -> None:
    odd = odd_server(limits=limits(**wanted))
    async with gateway(server.url, tmp_path, odd) as running, host(running) as client:
        failed = await called(client, f"odd:{tool}")
        assert failed.is_error
        assert message in text_of(failed)
        assert text_of(await called(client, "odd:counts")) == "1"


async def test_a_command_that_is_not_there_is_told_under_limits_too(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    missing = msgspec.structs.replace(
        odd_server(limits=limits(open_files=64)), command="no-such-server"
    )
    async with gateway(server.url, tmp_path, missing) as running:
        with pytest.raises(Unavailable, match="'no-such-server' is not installed here"):
            await running.upstreams["odd"].client()
