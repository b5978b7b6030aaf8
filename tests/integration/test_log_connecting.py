"""Connecting: nobody there is told soon, and who is there and busy is waited for."""

import asyncio
import math
import signal
import socket
from pathlib import Path

import pytest
from tests.retrying import PATIENCE

from weft.log import transport
from weft.log.transport import connect
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import Unavailable


async def test_a_server_that_is_there_and_says_nothing_yet_is_waited_for(folder: Path) -> None:
    async with EmbeddedServer(folder) as server:
        server.send_signal(signal.SIGSTOP)
        asyncio.get_running_loop().call_later(2.0, server.send_signal, signal.SIGCONT)
        connection = await connect(server.url, timeout=0.5)
        assert connection.is_connected
        await connection.close()


async def test_one_that_never_says_anything_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "SILENT_SECONDS", 0.5)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(Unavailable, match="no nats-server answers"),
    ):
        await connect(f"nats://127.0.0.1:{silent.getsockname()[1]}", timeout=0.5)


async def test_nobody_there_is_told_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the wait for a server that is there and silent."""
    monkeypatch.setattr(transport, "SILENT_SECONDS", math.inf)
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(Unavailable, match="no nats-server answers"):
            await connect("nats://127.0.0.1:1", timeout=0.5)
