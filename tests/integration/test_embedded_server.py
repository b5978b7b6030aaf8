"""The embedded server: one per folder, on one port, and gone with whoever started it."""

import asyncio
import contextlib
import fcntl
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft.log.api import call
from weft.log.topology import provision
from weft.log.transport import connect
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import ConfigurationError, Unavailable

PARENT = """
import asyncio, sys
from weft.supervision.embedded_server import EmbeddedServer

async def main():
    async with EmbeddedServer(sys.argv[1]) as server:
        print(server.pid, flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


def runs(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] != "Z"
    except OSError:
        return False


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True)
    with (folder / "nats-server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


async def gone(pid: int) -> None:
    async with asyncio.timeout(20):
        while runs(pid):
            await asyncio.sleep(0.02)


async def test_a_restart_keeps_port_and_data(folder: Path) -> None:
    async with EmbeddedServer(folder) as server:
        url = server.url
        connection = await connect(url)
        await provision(connection)
        await server.restart()
        assert server.url == url
        assert (await call(connection, "STREAM.INFO.weft"))["config"]["name"] == "weft"
        await connection.close()


async def test_leaving_stops_the_server(folder: Path) -> None:
    async with EmbeddedServer(folder) as server:
        pid = server.pid
    assert pid is not None
    await gone(pid)
    assert server.pid is None


async def test_a_folder_in_use_is_refused(folder: Path) -> None:
    async with EmbeddedServer(folder):
        with pytest.raises(ConfigurationError, match="in use by a running nats-server"):
            await EmbeddedServer(folder).start()
    async with EmbeddedServer(folder):
        pass


async def test_a_server_that_is_ending_is_waited_for(folder: Path) -> None:
    """As a killed server whose last threads still hold its folder."""
    with held(folder):
        server = EmbeddedServer(folder)
        starting = asyncio.create_task(server.start())
        await asyncio.sleep(0.1)
        assert not starting.done()
    await starting
    await server.stop()


async def test_a_port_in_use_is_one_clear_line(folder: Path, server: EmbeddedServer) -> None:
    with pytest.raises(Unavailable, match="address already in use"):
        await EmbeddedServer(folder, port=server.port).start()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="parent-death signal is Linux's")
async def test_the_server_dies_with_its_parent(folder: Path) -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, str(folder), stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    assert runs(pid)
    parent.kill()
    await parent.wait()
    await gone(pid)
    async with EmbeddedServer(folder):
        pass


async def test_power_durability_syncs_always(folder: Path) -> None:
    async with EmbeddedServer(folder, durability="power") as server:
        connection = await connect(server.url)
        assert await provision(connection, "power")
        await connection.close()
    assert "sync_interval: always" in (folder / "nats-server.conf").read_text()


async def test_it_can_be_killed_while_it_starts_and_started_again(folder: Path) -> None:
    async with EmbeddedServer(folder) as server:
        for _ in range(5):
            await server.kill()
            await asyncio.gather(server.restart(), server.kill(), server.start())
        await server.start()
        assert runs(server.pid)


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "nats").touch()
    with pytest.raises(ConfigurationError, match=r"nats: File exists; the server needs a folder"):
        await EmbeddedServer(tmp_path / "nats").start()
