"""A connection that left a frozen server leaves no socket behind either."""

import asyncio
import gc
import signal
import warnings
from pathlib import Path

import pytest
from tests.integration.processes import PATIENCE

from weft.log import transport
from weft.log.transport import connect
from weft.supervision.embedded_server import EmbeddedServer


async def test_attempts_to_reach_a_frozen_server_leave_no_socket_open(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(transport._OPTIONS, "ping_interval", 0.05)
    async with EmbeddedServer(folder) as server:
        log = await connect(server.url, timeout=0.2)
        gc.collect()
        with warnings.catch_warnings(record=True) as left:
            warnings.simplefilter("always", ResourceWarning)
            server.send_signal(signal.SIGSTOP)
            async with asyncio.timeout(PATIENCE):
                while log._current_server.reconnects < 4:
                    await asyncio.sleep(0.05)
            server.send_signal(signal.SIGCONT)
            async with asyncio.timeout(PATIENCE):
                while not log.is_connected:
                    await asyncio.sleep(0.05)
            gc.collect()
        await log.close()
    assert [str(one.message) for one in left] == []
