"""`weft work replica` as a container runs it: one process to start, one port to ask."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from weft.log.connection import Connection
from weft.supervision.embedded_server import EmbeddedServer
from weft.supervision.reserved_ports import Port

PATIENCE_SECONDS = 120


def answers(address: str) -> bool:
    try:
        with urlopen(address, timeout=2) as reply:
            return bool(reply.status == 200)
    except (URLError, OSError):
        return False


@pytest.fixture
def port() -> Iterator[int]:
    """A free port and the one after it, which stay free: a compiler takes the second."""
    while True:
        first = Port()
        with socket.socket() as second:
            second.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                second.bind(("127.0.0.1", first.number + 1))
            except OSError:
                continue
            yield first.number
            return


async def test_a_replica_says_on_its_port_that_it_is_ready(
    server: EmbeddedServer, log: Connection, folder: Path, tmp_path: Path, port: int
):
    environ = {
        "WEFT_NATS_URL": server.url,
        "WEFT_DATA_DIR": str(folder),
        "WEFT_HTTP_PORT": str(port),
    }
    messages = tmp_path / "stderr"
    with messages.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "weft.cli.main", "work", "replica"),
            env=os.environ | environ,
            stderr=stderr,
        )
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await asyncio.to_thread(answers, f"http://127.0.0.1:{port}/ready"):
                assert process.returncode is None, messages.read_text()
                await asyncio.sleep(0.1)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        code = await asyncio.wait_for(process.wait(), PATIENCE_SECONDS)
    assert code == 0, messages.read_text()
