"""Events per second of publishing, against nats-py with the same ids, bytes, durability and window.

`python -m tests.bench.publish [EVENTS]` on an embedded server; rounds of all ways are interleaved
and the ratio is the median of the rounds'.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator

from nats.js import JetStreamContext

from tests.bench.table import ratio, show
from weft.log.api import call
from weft.log.bulk_publishing import BatchMode, BulkPublisher
from weft.log.connection import Connection
from weft.log.in_flight import WINDOW
from weft.log.message import Message
from weft.log.publishing import Publisher
from weft.log.topology import Durability, provision
from weft.log.transport import connect
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.subjects import item_subject

EVENTS = 100_000
ROUNDS = 5
SERIAL_SHARE = 50
"""One in so many events is published by `await`, which is much slower; the rate is per second."""
PAYLOAD = b"x" * 1_000
SUBJECT = item_subject("acme", "s1", "tool_result")
BASELINE = "nats-py publish_async"

Way = Callable[[Connection, Iterator[Message]], Awaitable[None]]


def messages(count: int, prefix: str) -> Iterator[Message]:
    for number in range(count):
        yield Message(SUBJECT, PAYLOAD, f"{prefix}-{number:026d}")


async def one_by_one(connection: Connection, events: Iterator[Message]) -> None:
    js = connection.jetstream()
    for event in events:
        headers = {"Nats-Msg-Id": event.message_id}
        await js.publish(event.subject, event.payload, headers=headers)


async def publish_async(connection: Connection, events: Iterator[Message]) -> None:
    js = JetStreamContext(connection, publish_async_max_pending=WINDOW)
    futures = [
        await js.publish_async(
            event.subject, event.payload, headers={"Nats-Msg-Id": event.message_id}
        )
        for event in events
    ]
    await asyncio.gather(*futures)


async def publish_many(connection: Connection, events: Iterator[Message]) -> None:
    async with Publisher(connection) as publisher:
        await publisher.publish_many(events)


async def fast_ingest(connection: Connection, events: Iterator[Message]) -> None:
    async with Publisher(connection) as publisher, BulkPublisher(publisher, BatchMode.FAST) as bulk:
        await bulk.publish(events)


async def atomic_batches(connection: Connection, events: Iterator[Message]) -> None:
    async with (
        Publisher(connection) as publisher,
        BulkPublisher(publisher, BatchMode.ATOMIC) as bulk,
    ):
        await bulk.publish(events)


WAYS: dict[str, Way] = {
    "nats-py await publish": one_by_one,
    BASELINE: publish_async,
    "weft pipelined": publish_many,
    "weft fast ingest": fast_ingest,
    "weft atomic batches": atomic_batches,
}


async def rate(connection: Connection, name: str, way: Way, count: int, prefix: str) -> float:
    """Events per second of one way into an empty stream; all of them must be there afterwards."""
    await call(connection, "STREAM.PURGE.weft", {})
    await asyncio.sleep(0.2)
    before = (await call(connection, "STREAM.INFO.weft"))["state"]["last_seq"]
    started = time.perf_counter()
    await way(connection, messages(count, f"{prefix}-{name}"))
    seconds = time.perf_counter() - started
    after = (await call(connection, "STREAM.INFO.weft"))["state"]["last_seq"]
    assert after - before == count, f"{name}: {after - before} of {count} are stored"
    return count / seconds


async def measure(events: int, durability: Durability) -> dict[str, list[float]]:
    rates: dict[str, list[float]] = {name: [] for name in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        async with EmbeddedServer(folder, durability=durability) as server:
            connection = await connect(server.url)
            await provision(connection, durability)
            for number in range(ROUNDS):
                for name, way in WAYS.items():
                    count = max(1, events // SERIAL_SHARE) if way is one_by_one else events
                    rates[name].append(await rate(connection, name, way, count, str(number)))
            await connection.close()
    return rates


def report(title: str, rates: dict[str, list[float]]) -> None:
    rows = [
        (name, sorted(values)[len(values) // 2], ratio(values, rates[BASELINE]), len(values))
        for name, values in rates.items()
    ]
    show(title, ("way", "events/s, median", "x of publish_async", "rounds"), rows)


def main() -> None:
    events = int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS
    report(
        f"Publishing {events:,} events of 1 KB with message ids, durability `process`, "
        f"window {WINDOW:,}",
        asyncio.run(measure(events, "process")),
    )
    few = max(1, events // 10)
    report(
        f"Publishing {few:,} events of 1 KB with message ids, durability `power`, "
        f"window {WINDOW:,}",
        asyncio.run(measure(few, "power")),
    )


if __name__ == "__main__":
    main()
