"""From `client.publish` of a tool result, through firewall and indexer, on an idle system: until it
is compilable, which is when the read model holds its envelope; and until a compile that waits for
it answers.

`python -m tests.bench.compilable [TIMES]` starts all services; sizes take turns.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

import msgspec

import weft
from tests.bench.table import quantile, show
from tests.integration.command_line import services
from weft.log.message import Ack
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.status import StatusReply, StatusRequest

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


async def stored(client: weft.Client, number: int, size: int) -> tuple[Ack, float, float]:
    """The acknowledgement of a call and its result, when they were published, and the milliseconds
    until then."""
    made = result(number, size)
    begun = time.perf_counter()
    ack = await client.publish(f"s{size}", made)
    return ack, begun, (time.perf_counter() - begun) * 1_000


async def until_compilable(client: weft.Client, number: int, size: int) -> tuple[float, float]:
    """Milliseconds until the ack, and until the read model holds the result's envelope."""
    ack, begun, acknowledged = await stored(client, number, size)
    # On an idle system the envelope is the next event.
    asked = msgspec.json.encode(StatusRequest(after=ack.sequence + 1, timeout=30))
    subject = f"weft-rpc.default.s{size}.status"
    reply = await client.connection.request(subject, asked, timeout=30)
    done = time.perf_counter()
    status = msgspec.json.decode(reply.data, type=StatusReply)
    assert status.sequence == ack.sequence + 1
    assert not status.pending
    return acknowledged, (done - begun) * 1_000


async def until_prompt(client: weft.Client, number: int, size: int) -> tuple[float, float]:
    """Milliseconds until the ack, and until a compile that waits for the result answers."""
    ack, begun, acknowledged = await stored(client, number, size)
    pack = await client.compile(f"s{size}", "interpret", after=ack.sequence, timeout=30)
    done = time.perf_counter()
    assert not pack.pending
    assert f"r{size}-{number}" in pack.stats.included_items
    return acknowledged, (done - begun) * 1_000


Took = dict[int, list[tuple[float, float]]]
"""Size → milliseconds until the ack, and until what was waited for."""


async def measure(times: int) -> tuple[Took, Took]:
    compilable: Took = {size: [] for size in SIZES}
    prompts: Took = {size: [] for size in SIZES}
    with tempfile.TemporaryDirectory() as folder:
        async with services(Path(folder) / "data") as url, weft.connect(url) as client:
            for number in range(2 * (times + WARM_UP)):
                for size in SIZES:
                    once, found = (
                        (until_prompt, prompts) if number % 2 else (until_compilable, compilable)
                    )
                    took = await once(client, number, size)
                    if number >= 2 * WARM_UP:
                        found[size].append(took)
                    await asyncio.sleep(PAUSE)
    return compilable, prompts


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else TIMES
    compilable, prompts = asyncio.run(measure(times))
    rows = []
    for size in SIZES:
        acks, ready = zip(*compilable[size], strict=True)
        _, asked = zip(*prompts[size], strict=True)
        waits = (quantile(acks, 0.5), quantile(ready, 0.5), quantile(asked, 0.5))
        rows.append((f"{size} KB", times, *waits, quantile(asked, 0.99)))
    columns = (
        "tool result", "n", "ack p50, ms", "compilable p50, ms", "in a prompt p50, ms",
        "in a prompt p99, ms",
    )  # fmt: skip
    show("From publish to a compile that holds it", columns, rows)


if __name__ == "__main__":
    main()
