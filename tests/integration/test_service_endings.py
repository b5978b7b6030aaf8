"""Every service ends cleanly when it is told to, though the server says nothing any more."""

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.integration.processes import Running, started

from weft.cli.work import SERVICES
from weft.log.connection import connect
from weft.log.server import EmbeddedServer
from weft.log.topology import provision


@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGKILL], ids=["frozen", "gone"])
async def test_a_service_that_is_told_to_end_does_so_without_its_server(folder: Path, how):
    async with EmbeddedServer(folder / "nats") as server, AsyncExitStack() as stack:
        log = await connect(server.url)
        await provision(log)
        await log.close()
        environ = {"WEFT_NATS_URL": server.url, "WEFT_DATA_DIR": str(folder)}
        running: dict[str, Running] = {}
        for service in SERVICES:
            process = started("weft.cli.main", "work", service, **environ)
            running[service] = await stack.enter_async_context(process)
        await asyncio.gather(*(process.until_ready() for process in running.values()))
        server.send_signal(how)
        codes = await asyncio.gather(*(process.end() for process in running.values()))
        server.send_signal(signal.SIGCONT)
        said = {name: process.log[-3:] for name, process in running.items()}
        assert codes == [0] * len(running), said


async def test_what_was_not_sent_does_not_keep_a_connection_from_closing(folder: Path):
    async with EmbeddedServer(folder) as server:
        log = await connect(server.url)
        await server.kill()
        while log.is_connected:
            await asyncio.sleep(0.01)
        await log.publish("weft.acme.s1.in.user_turn", b"kept by nats-py until there is a server")
        await log.close()
        assert log.is_closed
