"""Every service as a process on a server with the shipped permissions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tests.guarded import guarded_server, password
from tests.integration.processes import Running, started

from weft.supervision.embedded_server import EmbeddedServer

SERVICES = {
    "firewall": "firewall",
    "summarizer": "worker",
    "memory": "worker",
    "indexer": "replica",
    "compiler": "replica",
    "router": "replica",
}
"""Service → the user that it signs in as."""


@asynccontextmanager
async def guarded_services(
    folder: Path,
) -> AsyncIterator[tuple[EmbeddedServer, dict[str, Running]]]:
    """A guarded server with every service, each signed in as the shipped files say."""
    async with guarded_server(folder / "nats") as server, AsyncExitStack() as stack:
        running = {}
        for service, user in SERVICES.items():
            environ = {
                "WEFT_NATS_URL": server.url,
                "WEFT_USER": user,
                "WEFT_PASSWORD": password(user),
                "WEFT_DATA_DIR": str(folder / "replica"),
            }
            process = started("weft.cli.main", "work", service, **environ)
            running[service] = await stack.enter_async_context(process)
        for process in running.values():
            await process.until_ready()
        yield server, running
