"""`weft serve` as a process, and everything behind it, for tests that speak HTTP."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from tests.integration.preloaded import program, shared_preloaded

from weft.client import Client
from weft.runtime.settings import read_settings
from weft.supervision.up import running
from weft_schemas.errors import Unavailable

PATIENCE = 120.0


@asynccontextmanager
async def serving(nats_url: str, *options: str, **environ: str) -> AsyncIterator[str]:
    """Its address; at the end it is told to stop, and must end cleanly."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    process = await program(
        *("weft.cli.main", "serve", "--nats", nats_url, "--port", "0"),
        *options,
        env=kept | environ,
        stdin=DEVNULL,
        stderr=PIPE,
    )
    assert process.stderr is not None
    lines: list[str] = []
    try:
        async with asyncio.timeout(PATIENCE):
            async for line in process.stderr:
                lines.append(line.decode())
                if found := re.search(r"weft at (http://\S+),", lines[-1]):
                    break
            else:
                raise AssertionError(f"weft serve ended: {lines}")
        drained = asyncio.create_task(process.stderr.read())
        yield found[1]
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 0, lines
    assert b"Traceback" not in await drained


@asynccontextmanager
async def everything(folder: Path) -> AsyncIterator[str]:
    """The address of a server with all services on a folder that is there, once they answer."""
    with (folder / "log").open("wb") as log:
        settings = read_settings({}, data_dir=folder)
        async with running(settings, log_file=log, preloaded=shared_preloaded()) as up:
            async with Client(up.settings) as client, asyncio.timeout(PATIENCE):
                while True:
                    try:
                        await client.status()
                        break
                    except Unavailable:
                        await asyncio.sleep(0.1)
            yield up.settings.nats_url


def item(
    name: str, kind: str = "user_turn", text: str = "Which order?", **more: Any
) -> dict[str, Any]:
    """An item as JSON."""
    return {"id": name, "kind": kind, "text": text, **more}


async def publish(
    http: httpx.AsyncClient, session: str, body: Any, query: str = ""
) -> dict[str, Any]:
    """The answer to a publish."""
    reply = await http.post(f"/v1/sessions/{session}/items{query}", json=body)
    assert reply.status_code == 200, reply.text
    answer: dict[str, Any] = reply.json()
    return answer
