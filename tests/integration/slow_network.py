"""A network between a client and a server that passes so many bytes a second on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from weft.log.timeouts import cancelled
from weft.supervision.embedded_server import EmbeddedServer

PIECE_BYTES = 16 * 1024


@asynccontextmanager
async def slowed(server: EmbeddedServer, bytes_per_second: int) -> AsyncIterator[str]:
    """The address of the server on a slow network."""

    async def passed_on(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await source.read(PIECE_BYTES):
                await asyncio.sleep(len(piece) / bytes_per_second)
                to.write(piece)
                await to.drain()
        to.close()

    connections: set[asyncio.Task[None]] = set()

    async def connected(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        if own := asyncio.current_task():
            connections.add(own)
        there, back = await asyncio.open_connection("127.0.0.1", server.port)
        with suppress(asyncio.CancelledError):
            await asyncio.gather(passed_on(source, back), passed_on(there, to))
        back.close()
        to.close()

    network = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"nats://127.0.0.1:{network.sockets[0].getsockname()[1]}"
    finally:
        network.close()
        await cancelled(*connections)
