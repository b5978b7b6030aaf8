"""Publish to compilable: from `client.publish` of a tool result until a compile that waits for it
answers, through firewall and indexer, on an idle system; and how much of that the compile itself
takes, asked for once more.

`python -m tests.bench.compilable [TIMES]` starts all services; sizes take turns.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

import weft
from tests.bench.table import quantile, show
from tests.integration.command_line import services
from weft_schemas.items import ContextItem, ItemKind

TIMES = 200
WARM_UP = 10
"""First rounds, not counted: imports, caches and connections of six processes."""
SIZES = (1, 20, 200)
"""KB of the tool result."""
PAUSE = 0.02
"""Seconds between rounds, so that the system is idle."""


def result(number: int, size: int) -> list[ContextItem]:
    """A call and a result of `size` KB: a JSON list of records, none like another."""
    row = '{{"id": {0}, "name": "item {0}", "price": {1}.50, "note": "stock {2} of {3}"}}'
    lines: list[str] = []
    while sum(map(len, lines)) < size * 1_000:
        seed = number * 10_000 + len(lines)
        lines.append(row.format(seed, seed % 977, seed % 31, size))
    named = {"tool_name": "list", "call_id": f"c{number}"}
    asked = {**named, "arguments": {"page": number}}
    return [
        ContextItem(f"c{size}-{number}", ItemKind.TOOL_CALL, "list()", metadata=asked),
        ContextItem(
            f"r{size}-{number}",
            ItemKind.TOOL_RESULT,
            "[" + ",\n".join(lines) + "]",
            f"c{size}-{number}",
            metadata=named,
        ),
    ]


async def once(client: weft.Client, number: int, size: int) -> tuple[float, float, float]:
    """Milliseconds until the ack, until the compile holds the result, and of the same compile once
    more."""
    made = result(number, size)
    begun = time.perf_counter()
    ack = await client.publish(f"s{size}", made)
    stored = time.perf_counter()
    pack = await client.compile(f"s{size}", "interpret", after=ack.sequence, timeout=30)
    done = time.perf_counter()
    assert not pack.pending
    assert made[1].id in pack.stats.included_items
    await client.compile(f"s{size}", "interpret")
    again = time.perf_counter()
    return (stored - begun) * 1_000, (done - begun) * 1_000, (again - done) * 1_000


async def measure(times: int) -> dict[int, list[tuple[float, float, float]]]:
    found: dict[int, list[tuple[float, float, float]]] = {size: [] for size in SIZES}
    with tempfile.TemporaryDirectory() as folder:
        async with services(Path(folder) / "data") as url, weft.connect(url) as client:
            for number in range(times + WARM_UP):
                for size in SIZES:
                    took = await once(client, number, size)
                    if number >= WARM_UP:
                        found[size].append(took)
                    await asyncio.sleep(PAUSE)
    return found


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else TIMES
    rows = []
    for size, took in asyncio.run(measure(times)).items():
        acks, dones, agains = zip(*took, strict=True)
        rows.append(
            (
                f"{size} KB",
                len(took),
                quantile(acks, 0.5),
                quantile(dones, 0.5),
                quantile(dones, 0.99),
                quantile(agains, 0.5),
            )
        )
    columns = (
        "tool result", "n", "ack p50, ms", "in a prompt p50, ms", "in a prompt p99, ms",
        "of which the compile p50, ms",
    )  # fmt: skip
    show("From publish to a compile that holds it", columns, rows)


if __name__ == "__main__":
    main()
