"""`weft work replica` as a container runs it: one process to start, one port to ask."""

import asyncio
import os
import signal
import socket
import sys
from urllib.error import URLError
from urllib.request import urlopen

from weft.log.connection import Connection
from weft.log.server import EmbeddedServer

PATIENCE_SECONDS = 40


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


def answers(address: str) -> bool:
    try:
        with urlopen(address, timeout=2) as reply:
            return bool(reply.status == 200)
    except (URLError, OSError):
        return False


async def test_a_replica_says_on_its_port_that_it_is_ready(
    server: EmbeddedServer, log: Connection, folder
):
    port = free_port()
    environ = {
        "WEFT_NATS_URL": server.url,
        "WEFT_DATA_DIR": str(folder),
        "WEFT_HTTP_PORT": str(port),
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "weft.cli.main", "work", "replica"),
        env=os.environ | environ,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await asyncio.to_thread(answers, f"http://127.0.0.1:{port}/ready"):
                assert process.returncode is None
                await asyncio.sleep(0.1)
    finally:
        process.send_signal(signal.SIGTERM)
        code = await asyncio.wait_for(process.wait(), PATIENCE_SECONDS)
    assert code == 0
