"""A compile through the service as a session grows, each with a new query and a new item since the
last; beside contextweaver's `build_sync` on the same session.

`python -m tests.bench.compiling [SIZES] [--contextweaver SIZES] [--only sizes|among|processes]`,
for example `1000,10000`.
contextweaver is quadratic: 10,000 items take it two minutes, so it runs once per size.
"""

import argparse
import asyncio
import random
import time

from tests.bench.indexer import Words
from tests.bench.stack import stack
from tests.bench.table import quantile, show
from weft.client import Client
from weft.supervision.up import Up
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

SIZES = (100, 1_000, 10_000, 100_000)
THEIRS = (100, 1_000, 10_000)
ROUNDS = 100
OTHER_SESSIONS = 2_000
OTHER_ITEMS = 20
AMONG = 1_000
"""Items of the session that is measured alone and among others."""
BUDGET = 2_000
ITEM_BYTES = 500
KINDS = (ItemKind.USER_TURN, ItemKind.AGENT_MSG, ItemKind.DOC_SNIPPET, ItemKind.AGENT_MSG)


def items(words: Words, first: int, count: int) -> list[ContextItem]:
    """Text that does not repeat."""
    return [
        ContextItem(f"i{number}", KINDS[number % len(KINDS)], words.text(ITEM_BYTES))
        for number in range(first, first + count)
    ]


async def settled(client: Client, sequence: int) -> None:
    while (await client.status()).sequence < sequence:
        await asyncio.sleep(0.05)


async def compiles(
    client: Client, session: str, words: Words, first: int, rounds: int
) -> list[float]:
    """Milliseconds per compile; before each a new item is published and folded."""
    taken = []
    for number in range(rounds):
        ack = await client.publish(session, items(words, first + number, 1))
        await settled(client, ack.sequence)
        phase = list(Phase)[number % len(Phase)]
        begun = time.perf_counter()
        await client.compile(session, phase, query=words.rare(), budget=BUDGET)
        taken.append((time.perf_counter() - begun) * 1e3)
    return taken


def compiler_memory(up: Up) -> float:
    """MiB resident of the compiler's process (Linux)."""
    pid = next(state.pid for state in up.supervisor.states() if state.name.startswith("compiler"))
    with open(f"/proc/{pid}/status") as file:
        line = next(line for line in file if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


async def restarted(up: Up, client: Client, session: str, words: Words) -> float:
    """Milliseconds of the first compile after the compiler was killed and came back."""
    name = next(s.name for s in up.supervisor.states() if s.name.startswith("compiler"))
    before = next(s.pid for s in up.supervisor.states() if s.name == name)
    up.supervisor.kill(name)
    while True:
        await asyncio.sleep(0.05)
        pid = next(s.pid for s in up.supervisor.states() if s.name == name)
        if pid not in (None, before):
            break
    while True:
        try:
            await client.status(session)
            break
        except Exception:
            await asyncio.sleep(0.05)
    begun = time.perf_counter()
    await client.compile(session, Phase.ANSWER, query=words.rare(), budget=BUDGET)
    return (time.perf_counter() - begun) * 1e3


def theirs(size: int, words: Words) -> float:
    """Milliseconds of contextweaver's build over a session of `size` items."""
    from contextweaver.config import ContextBudget
    from contextweaver.context.manager import ContextManager
    from contextweaver.types import ContextItem as TheirItem
    from contextweaver.types import ItemKind as TheirKind
    from contextweaver.types import Phase as TheirPhase

    manager = ContextManager(budget=ContextBudget(answer=BUDGET))
    for item in items(words, 0, size):
        manager.ingest_sync(TheirItem(id=item.id, kind=TheirKind(item.kind.value), text=item.text))
    begun = time.perf_counter()
    manager.build_sync(phase=TheirPhase.answer, query=words.rare())
    return (time.perf_counter() - begun) * 1e3


async def measure(sizes: list[int], their_sizes: list[int]) -> None:
    rows: list[list[object]] = []
    for size in sizes:
        words = Words(size)
        async with stack() as (up, client):
            ack = await client.publish("grown", items(words, 0, size))
            await settled(client, ack.sequence)
            await compiles(client, "grown", words, size, 8)
            taken = await compiles(client, "grown", words, size + 8, ROUNDS)
            memory = compiler_memory(up)
            first = await restarted(up, client, "grown", words)
        other = theirs(size, words) if size in their_sizes else None
        p50 = quantile(taken, 0.5)
        answers = taken[list(Phase).index(Phase.ANSWER) :: len(Phase)]
        rows.append(
            [
                size, p50, quantile(taken, 0.99), quantile(answers, 0.5), first, memory,
                "-" if other is None else round(other, 1),
                "-" if other is None else f"{other / p50:,.0f} times", len(taken),
            ]
        )  # fmt: skip
    show(
        f"Compile through the service, budget {BUDGET}, milliseconds (all four phases in turn)",
        [
            "items", "p50", "p99", "answer p50", "first answer after restart", "compiler MiB",
            "contextweaver", "faster", "n",
        ],
        rows,
    )  # fmt: skip


async def among() -> None:
    """One session alone, and among many others."""
    words = Words(5)
    async with stack() as (_, client):
        ack = await client.publish("one", items(words, 0, AMONG))
        await settled(client, ack.sequence)
        await compiles(client, "one", words, AMONG, 8)
        alone = await compiles(client, "one", words, AMONG + 8, ROUNDS)
        for number in range(OTHER_SESSIONS):
            ack = await client.publish(f"other-{number}", items(words, 0, OTHER_ITEMS))
        await settled(client, ack.sequence)
        crowded = await compiles(client, "one", words, AMONG + 200, ROUNDS)
    one, many = quantile(alone, 0.5), quantile(crowded, 0.5)
    show(
        f"A session of {AMONG:,} items, alone and among {OTHER_SESSIONS:,} others",
        ["alone p50 ms", "among p50 ms", "ratio", "n"],
        [[one, many, many / one, ROUNDS]],
    )


async def throughput() -> None:
    """Compiles per second with one and two compiler processes."""
    rows: list[list[object]] = []
    for processes in (1, 2):
        words = Words(9)
        random.seed(9)
        from weft.supervision.up import EVERYTHING

        async with stack({**EVERYTHING, "compiler": processes}) as (_, client):
            ack = await client.publish("busy", items(words, 0, 1_000))
            await settled(client, ack.sequence)
            count, room = 400, asyncio.Semaphore(8)

            async def one(client: Client = client, words: Words = words) -> None:
                async with room:  # noqa: B023
                    await client.compile("busy", Phase.ANSWER, query=words.rare(), budget=BUDGET)

            await asyncio.gather(*(one() for _ in range(20)))
            begun = time.perf_counter()
            await asyncio.gather(*(one() for _ in range(count)))
            rows.append([processes, count / (time.perf_counter() - begun), count])
    show("Compiles per second, 8 at once", ["compiler processes", "per second", "n"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="?", default=",".join(map(str, SIZES)))
    parser.add_argument("--contextweaver", default=",".join(map(str, THEIRS)))
    parser.add_argument("--only", choices=("sizes", "among", "processes"))
    chosen = parser.parse_args()
    sizes = [int(size) for size in chosen.sizes.split(",") if size]
    their_sizes = [int(size) for size in chosen.contextweaver.split(",") if size]
    if chosen.only in (None, "sizes"):
        asyncio.run(measure(sizes, their_sizes))
    if chosen.only in (None, "among"):
        asyncio.run(among())
    if chosen.only in (None, "processes"):
        asyncio.run(throughput())


if __name__ == "__main__":
    main()
