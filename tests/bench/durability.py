"""What each durability costs: one event awaited, and many in a batch, on one machine.

`power` and `cluster` sync to this disk before they acknowledge; three nodes share it here, which a
real cluster's do not.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from statistics import median, quantiles

from tests.bench.publish import messages
from tests.bench.table import show
from weft.log.bulk_publishing import BulkPublisher, best_mode
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.topology import Durability, provision
from weft.log.transport import connect
from weft.supervision.embedded_cluster import EmbeddedCluster
from weft.supervision.embedded_server import EmbeddedServer

SINGLE = 300
BULK = 5_000
ROUNDS = 5
DURABILITIES: tuple[Durability, ...] = ("process", "power", "cluster")


@asynccontextmanager
async def log_with(durability: Durability) -> AsyncIterator[Connection]:
    """A provisioned log of this durability on servers of its own."""
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
        is_cluster = durability == "cluster"
        made = EmbeddedCluster(folder) if is_cluster else EmbeddedServer(folder, 0, durability)
        async with made as server:
            connection = await connect(server.url)
            try:
                await provision(connection, durability)
                yield connection
            finally:
                await connection.close()


async def one_by_one(connection: Connection) -> list[float]:
    """Milliseconds from each publish to its acknowledgement."""
    taken = []
    async with Publisher(connection) as publisher:
        for message in messages(SINGLE, "single"):
            begun = time.perf_counter()
            await publisher.publish(message.subject, message.payload, message.message_id)
            taken.append((time.perf_counter() - begun) * 1_000)
    return taken


async def in_bulk(connection: Connection, number: int) -> float:
    """Events per second."""
    begun = time.perf_counter()
    async with (
        Publisher(connection) as publisher,
        BulkPublisher(publisher, await best_mode(connection)) as bulk,
    ):
        await bulk.publish(messages(BULK, f"bulk-{number}"))
    return BULK / (time.perf_counter() - begun)


async def main() -> None:
    rows = []
    for durability in DURABILITIES:
        async with log_with(durability) as connection:
            single = await one_by_one(connection)
            rates = [await in_bulk(connection, number) for number in range(ROUNDS)]
        rows.append([durability, median(single), quantiles(single, n=100)[98], median(rates)])
    columns = ["durability", "one event p50, ms", "p99, ms", "in bulk, events/s"]
    show(f"Publishing 1 KB: {SINGLE} awaited, {ROUNDS} x {BULK:,} in bulk", columns, rows)


if __name__ == "__main__":
    asyncio.run(main())
