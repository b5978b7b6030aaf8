"""A whole weft for a measurement: embedded server, every service a process, and a client."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from weft.client import Client
from weft.runtime.settings import Settings
from weft.supervision.up import EVERYTHING, Up, running
from weft_schemas.errors import Unavailable


@asynccontextmanager
async def stack(
    counts: Mapping[str, int] = EVERYTHING, **settings: object
) -> AsyncIterator[tuple[Up, Client]]:
    """Everything in a folder that goes at the end; ready to answer when entered."""
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as name:
        folder = Path(name)
        with (folder / "weft.log").open("wb") as log_file:
            chosen = Settings(data_dir=folder, **settings)  # type: ignore[arg-type]
            async with (
                running(chosen, counts, log_file=log_file) as up,
                Client(up.settings) as client,
            ):
                if counts.get("compiler"):
                    await answering(client)
                yield up, client


async def answering(client: Client) -> None:
    """Return when a replica answers."""
    while True:
        try:
            await client.status()
            return
        except Unavailable:
            await asyncio.sleep(0.05)
