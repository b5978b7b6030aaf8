"""Replicas with snapshots, and logs whose events every worker has finished."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.integration.logged import until_finished

from weft.indexer.rebuild import rebuild
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.consuming import Consumer
from weft.log.reading import last_sequence
from weft.log.topology import provision
from weft.snapshots.snapshot import take
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.subjects import STREAM

ENCODING = "o200k_base"


def turns(count: int, prefix: str = "i", first: int = 0) -> list[ContextItem]:
    names = range(first, first + count)
    return [ContextItem(f"{prefix}{n}", ItemKind.USER_TURN, f"turn {n}") for n in names]


async def snapshot_of(log: Connection, folder: Path):
    """A replica made without an indexer process, and its snapshot."""
    await rebuild(log, folder, ENCODING)
    return await take(log, folder)


async def made_anew(log: Connection) -> None:
    """The log is lost, and what is stored beside it is not."""
    await call(log, f"STREAM.DELETE.{STREAM}")
    await provision(log)
    # nats-server 2.15 may bring back the messages of a stream that was just restored.
    while await last_sequence(log):
        await call(log, f"STREAM.DELETE.{STREAM}")
        await provision(log)


async def acknowledge_all(log: Connection) -> None:
    for worker in ("firewall", "summarizer", "memory"):
        async with Consumer(log, worker) as consumer:
            acknowledging = asyncio.create_task(acknowledge(consumer))
            await until_finished(log, worker)
            consumer.stop()
            await acknowledging


async def acknowledge(consumer: Consumer) -> None:
    async for batch in consumer:
        for delivery in batch:
            delivery.ack()
