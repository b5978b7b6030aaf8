"""Everything that `weft up` starts, for the tests of a session."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from weft.client.client import Client
from weft.client.readiness import answers
from weft.runtime.settings import read_settings
from weft.supervision.up import running

READY_SECONDS = 120.0
POLL_SECONDS = 0.1


@contextlib.asynccontextmanager
async def deployment(folder: Path | str) -> AsyncIterator[str]:
    """The address of an embedded nats-server with every service on it, ready for requests; its data
    and `weft.log` are in `folder`. Starting it takes about 5 seconds."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "weft.log").open("wb") as log:
        async with running(read_settings({}, data_dir=folder / "data"), log_file=log) as up:
            async with Client(up.settings) as client, asyncio.timeout(READY_SECONDS):
                while not await answers(client):
                    await asyncio.sleep(POLL_SECONDS)
            yield up.settings.nats_url
