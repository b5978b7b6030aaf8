"""An indexer as a process of its own on a real log, and what its read model says."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from tests.integration.preloaded import Program, program

from weft.log.connection import Connection
from weft.log.message import Message
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence
from weft.readmodel.generations import Reader
from weft_schemas.errors import Unavailable
from weft_schemas.events import Event, encode_event
from weft_schemas.ids import item_message_id
from weft_schemas.items import ContextItem
from weft_schemas.subjects import derived_subject, item_subject

PATIENCE = 120.0
"""Seconds until a test gives up waiting: far above what anything takes."""


@contextlib.asynccontextmanager
async def indexer(url: str, data_dir: Path, **environ: str) -> AsyncIterator[Program]:
    """`weft work indexer`, killed at the end if it still runs."""
    process = await program(
        "weft.cli.main",
        "work",
        "indexer",
        env={
            **os.environ,
            "WEFT_NATS_URL": url,
            "WEFT_DATA_DIR": str(data_dir),
            "WEFT_HTTP_PORT": "0",
            **environ,
        },
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
            await process.wait()


async def publish(
    connection: Connection, session: str, events: Sequence[Event], tenant: str = "t"
) -> list[int]:
    """Publish events; gives their sequences."""
    messages = []
    for event in events:
        payload = encode_event(event)
        if isinstance(event, ContextItem):
            id = item_message_id(tenant, session, event.id, payload)
            subject = item_subject(tenant, session, event.kind.value)
        else:
            id = ""
            subject = derived_subject(tenant, session, str(type(event).__struct_config__.tag))
        messages.append(Message(subject, payload, id))
    async with Publisher(connection) as publisher:
        return [ack.sequence for ack in await publisher.publish_many(messages)]


async def folded(connection: Connection, reader: Reader) -> int:
    """Wait until the read model has the whole log; gives the watermark."""
    async with asyncio.timeout(PATIENCE):
        while True:
            last = await last_sequence(connection)
            with contextlib.suppress(Unavailable):
                if reader.model().watermark() >= last:
                    return last
            await asyncio.sleep(0.01)
