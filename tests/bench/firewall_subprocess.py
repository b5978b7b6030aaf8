"""Whether a huge result holds up small ones: the time from a small result's publishing to its
envelope, alone and while one firewall process also has a body of 50 MB, and how far a second
process goes.

`python -m tests.bench.firewall_subprocess [SMALL]`. Times are the server's, of source and envelope.
"""

import asyncio
import random
import sys

from tests.bench.stack import stack
from tests.bench.table import quantile, ratio, show
from tests.bench.workers import left, result
from weft.client import Client
from weft.log.reading import read_matching
from weft_schemas.events import EnvelopeEvent
from weft_schemas.items import ContextItem, ItemKind

SMALL = 1_000
PER_SECOND = 100
"""Small results are published at this rate: well below what one process does."""
HUGE_BYTES = 50 << 20
ROUNDS = 3


def huge() -> ContextItem:
    """One line of JSON."""
    rng = random.Random(50)
    row = f'{{"id": "inv_{rng.randrange(10**9)}", "note": "{"some words of a note " * 8}"}}'
    return ContextItem(
        "huge", ItemKind.TOOL_RESULT, f"[{', '.join([row] * (HUGE_BYTES // len(row)))}]"
    )


async def latencies(small: int, beside: bool) -> list[float]:
    """Milliseconds of each small result."""
    async with stack({"firewall": 1}) as (_, client):
        await client.publish("warm", [result(number) for number in range(50)])
        await client.publish("warm", ContextItem("warm", ItemKind.TOOL_RESULT, "word " * 60_000))
        while await left(client, "firewall") > 0:
            await asyncio.sleep(0.05)
        if beside:
            await client.publish("huge", huge())
        for number in range(small):
            await client.publish("small", result(number))
            await asyncio.sleep(1 / PER_SECOND)
        while await left(client, "firewall") > 0:
            await asyncio.sleep(0.05)
        return await times(client, "small")


async def times(client: Client, session: str) -> list[float]:
    """From the storing of each of a session's items to that of its envelope, in milliseconds."""
    sources: dict[int, int] = {}
    taken: list[float] = []
    async for record in read_matching(client.connection, f"w.*.*.*.{session}.>"):
        event = record.event()
        if isinstance(event, EnvelopeEvent):
            taken.append((record.published_ns - sources[event.origin.sequence]) / 1e6)
        else:
            sources[record.sequence] = record.published_ns
    return taken


async def main(small: int) -> None:
    alone, beside = [], []
    for _ in range(ROUNDS):
        alone.append(await latencies(small, False))
        beside.append(await latencies(small, True))
    rows = [
        [name, *(quantile([t for times in rounds for t in times], q) for q in (0.5, 0.99)), small]
        for name, rounds in (("alone", alone), ("beside a body of 50 MB", beside))
    ]
    show(
        "From a small result to its envelope, ms",
        ["1 KB results", "p50", "p99", "n per round"],
        rows,
    )
    slower = ratio([quantile(x, 0.99) for x in beside], [quantile(x, 0.99) for x in alone])
    print(f"p99 beside / p99 alone, median of {ROUNDS} rounds: {slower:.2f}")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else SMALL))
