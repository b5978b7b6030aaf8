"""`weft work replica` as a container runs it: one process to start, one port to ask."""

import asyncio
import os
import signal
import sys
from urllib.error import URLError
from urllib.request import urlopen

from weft.log.connection import Connection
from weft.log.ports import Port
from weft.log.server import EmbeddedServer

PATIENCE_SECONDS = 120


def answers(address: str) -> bool:
    try:
        with urlopen(address, timeout=2) as reply:
            return bool(reply.status == 200)
    except (URLError, OSError):
        return False


async def test_a_replica_says_on_its_port_that_it_is_ready(
    server: EmbeddedServer, log: Connection, folder
):
    port = Port()
    environ = {
        "WEFT_NATS_URL": server.url,
        "WEFT_DATA_DIR": str(folder),
        "WEFT_HTTP_PORT": str(port.number),
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "weft.cli.main", "work", "replica"),
        env=os.environ | environ,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await asyncio.to_thread(answers, f"http://127.0.0.1:{port.number}/ready"):
                assert process.returncode is None
                await asyncio.sleep(0.1)
    finally:
        process.send_signal(signal.SIGTERM)
        code = await asyncio.wait_for(process.wait(), PATIENCE_SECONDS)
    assert code == 0
