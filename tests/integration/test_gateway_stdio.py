"""What becomes of a server's process when its connection ends."""

import asyncio
import os
import sys

import pytest

from weft.gateway.configuration.config import ServerSpec
from weft.gateway.transports.stdio import StdioServer

SLEEPING = ServerSpec(
    name="sleeping",
    transport="stdio",
    command=sys.executable,
    args=("-c", "import time; time.sleep(600)"),
)


async def cancelled_while_it_stops() -> int:
    """The process of a server that does not end by itself. Its program ends before it is stopped,
    and does not wait: the tasks are cancelled that are left."""
    server, started = StdioServer(SLEEPING, lambda _: None), asyncio.Event()

    async def connected() -> None:
        async with server:
            started.set()
            await asyncio.Event().wait()

    owner = asyncio.create_task(connected())
    await started.wait()
    owner.cancel()
    await asyncio.sleep(0)
    owner.cancel()
    await asyncio.gather(owner, return_exceptions=True)
    assert server.pid is not None
    os.kill(server.pid, 0)  # it runs
    return server.pid


def test_no_process_is_left_if_the_program_ends_while_a_server_is_stopped() -> None:
    pid = asyncio.run(cancelled_while_it_stops())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
