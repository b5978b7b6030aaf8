"""Rebuild, items per second, beside a bare replay of the same log; and how soon a new replica
serves, from a snapshot and from the start.

`python -m tests.bench.replay [ITEMS]`. Items hold about 500 bytes of text in natural frequencies.
Rounds of all ways are interleaved, and the ratio is the median of the rounds'. Processor time is
that of the process that replays, so that a busy machine distorts it less than the clock. Without
the text index means that the fold leaves out the terms and nothing else.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from unittest.mock import patch

from tests.bench.indexer import Words, items
from tests.bench.table import ratio, show
from tests.integration.indexer_process import indexer
from weft import tokens
from weft.indexer.rebuild import rebuild
from weft.log.bulk_publishing import BulkPublisher, best_mode
from weft.log.connection import Connection
from weft.log.following import Follower
from weft.log.message import Message
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence
from weft.log.topology import provision
from weft.log.transport import connect
from weft.readmodel.documents import Documents
from weft.readmodel.generations import Reader
from weft.snapshots.snapshot import take
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import Unavailable
from weft_schemas.events import encode_event
from weft_schemas.ids import item_message_id
from weft_schemas.subjects import item_subject

ITEMS = 30_000
TEXT_BYTES = 500
SESSIONS = 50
ROUNDS = 3
TAIL = 500
"""Items after the snapshot."""


def messages(count: int, first: int = 0) -> Iterator[Message]:
    for number, item in enumerate(items(Words(7 + first), count, TEXT_BYTES), first):
        session, payload = f"s{number % SESSIONS}", encode_event(item)
        id = item_message_id("t", session, f"{number}", payload)
        yield Message(item_subject("t", session, item.kind), payload, id)


async def publish(connection: Connection, count: int, first: int = 0) -> None:
    async with (
        Publisher(connection) as publisher,
        BulkPublisher(publisher, await best_mode(connection)) as bulk,
    ):
        await bulk.publish(messages(count, first))


async def replayed(connection: Connection) -> float:
    """Seconds of following the whole log and doing nothing with it."""
    last = await last_sequence(connection)
    begun = time.perf_counter()
    async with Follower(connection) as log:
        async for followed in log:
            if followed.through >= last:
                return time.perf_counter() - begun
    raise AssertionError("the log ended early")


async def rebuilt(connection: Connection) -> float:
    """Seconds of a rebuild on an empty folder, taken over and digested."""
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
        begun = time.perf_counter()
        await rebuild(connection, Path(folder), tokens.DEFAULT_ENCODING)
        return time.perf_counter() - begun


@contextmanager
def without_index() -> Iterator[None]:
    with patch.object(Documents, "add", lambda *_: None):
        yield


class Timed:
    """Seconds of the clock and of this process's processor time, round by round."""

    def __init__(self) -> None:
        self.clock: list[float] = []
        self.processor: list[float] = []

    async def run(self, work: Awaitable[float]) -> None:
        begun = time.process_time()
        self.clock.append(await work)
        self.processor.append(time.process_time() - begun)


async def measure_rebuild(connection: Connection, count: int) -> None:
    bare, plain, indexed = Timed(), Timed(), Timed()
    await replayed(connection)
    for _ in range(ROUNDS):
        await bare.run(replayed(connection))
        with without_index():
            await plain.run(rebuilt(connection))
        await indexed.run(rebuilt(connection))
    rows = [
        [
            name,
            count / median(way.clock),
            count / max(way.clock),
            count / min(way.clock),
            ratio(bare.clock, way.clock),
            count / median(way.processor),
            ratio(bare.processor, way.processor),
        ]
        for name, way in (
            ("bare bounded-pull replay", bare),
            ("rebuild without the text index", plain),
            ("rebuild", indexed),
        )
    ]
    columns = ["", "median", "least", "most", "of bare", "per CPU second", "of bare"]
    show(f"{count:,} items of {TEXT_BYTES} B, {ROUNDS} rounds: items per second", columns, rows)


async def serving(url: str, connection: Connection) -> float:
    """Seconds from starting an indexer process on an empty folder until it has the whole log."""
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as name:
        folder = Path(name)
        begun = time.perf_counter()
        environ = {"WEFT_LOG_LEVEL": "error", "WEFT_FINGERPRINT_KEY": "k" * 16}
        async with indexer(url, folder, **environ) as process:
            with Reader(folder) as reader:
                last = await last_sequence(connection)
                while not _has(reader, last):
                    assert process.returncode is None, "the indexer has ended"
                    await asyncio.sleep(0.01)
            return time.perf_counter() - begun


def _has(reader: Reader, last: int) -> bool:
    try:
        return reader.model().watermark() >= last
    except Unavailable:
        return False


async def measure_start(url: str, connection: Connection, count: int) -> None:
    from_start = [await serving(url, connection) for _ in range(ROUNDS)]
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as name:
        await rebuild(connection, Path(name), tokens.DEFAULT_ENCODING)
        begun = time.perf_counter()
        taken = await take(connection, Path(name))
        seconds = time.perf_counter() - begun
    await publish(connection, TAIL, count)
    from_snapshot = [await serving(url, connection) for _ in range(ROUNDS)]
    rows = [
        [way, median(found), min(found), max(found)]
        for way, found in (("from the start", from_start), ("from the snapshot", from_snapshot))
    ]
    title = (
        f"Seconds until a new replica has all {count + TAIL:,} events, process start in it; the "
        f"snapshot of {taken.size / 1e6:.0f} MB took {seconds:.2f} s"
    )
    show(title, ["", "median", "least", "most"], rows)


async def main() -> None:
    """Print the tables."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else ITEMS
    tokens.count("ready")
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
        async with EmbeddedServer(Path(folder)) as server:
            connection = await connect(server.url)
            await provision(connection)
            await publish(connection, count)
            await measure_rebuild(connection, count)
            await measure_start(server.url, connection, count)
            await connection.close()


if __name__ == "__main__":
    asyncio.run(main())
