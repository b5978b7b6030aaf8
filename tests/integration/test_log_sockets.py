"""A connection that left a frozen server leaves no socket behind either."""

import asyncio
import gc
import signal
from pathlib import Path

import pytest

from weft.log import connection as connecting
from weft.log.connection import connect
from weft.log.server import EmbeddedServer


def open_sockets(port: int) -> int:
    """TCP sockets of this machine that are connected to the port, or were."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    wanted = f"0100007F:{port:04X}"
    return sum(line.split()[2] == wanted and line.split()[9] != "0" for line in lines)


async def test_attempts_to_reach_a_frozen_server_leave_no_socket_open(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connecting._OPTIONS, "ping_interval", 0.05)
    async with EmbeddedServer(folder) as server:
        log = await connect(server.url, timeout=0.2)
        gc.disable()
        try:
            server.send_signal(signal.SIGSTOP)
            async with asyncio.timeout(60):
                while log._current_server.reconnects < 4:
                    await asyncio.sleep(0.05)
            assert open_sockets(server.port) <= 1
        finally:
            gc.enable()
            server.send_signal(signal.SIGCONT)
        async with asyncio.timeout(60):
            while not log.is_connected:
                await asyncio.sleep(0.05)
        await log.close()
        gc.collect()
