"""Seconds from a failure until a new item is acknowledged, and until it is settled in a compile.

Everything of `weft up` runs on one machine; each failure is made several times, and nobody helps.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from itertools import count
from statistics import median
from typing import TypeVar

from tests.bench.stack import stack
from tests.bench.table import show
from weft.client import Client
from weft.log.api import call
from weft.supervision.up import EVERYTHING, Up
from weft_schemas.errors import WeftError
from weft_schemas.items import ContextItem, ItemKind

T = TypeVar("T")
Failure = Callable[[Up, Client], Awaitable[None]]

ROUNDS = 5
STEADY_SECONDS = 3.0
"""Between two rounds, so that each starts from a quiet system."""
PATIENCE_SECONDS = 90.0
LOAD = 300
"""Results that are being worked when a firewall is killed under load."""

_numbers = count()


async def nothing(up: Up, client: Client) -> None:
    """The baseline: the same without a failure."""


async def firewall(up: Up, client: Client) -> None:
    up.supervisor.kill("firewall-1")


async def loaded_firewall(up: Up, client: Client) -> None:
    await client.publish("load", [result() for _ in range(LOAD)])
    up.supervisor.kill("firewall-1")


async def indexer(up: Up, client: Client) -> None:
    up.supervisor.kill("indexer")


async def compiler(up: Up, client: Client) -> None:
    up.supervisor.kill("compiler")


async def server(up: Up, client: Client) -> None:
    assert up.server is not None
    await up.server.kill()


async def consumer(up: Up, client: Client) -> None:
    await call(client.connection, "CONSUMER.DELETE.weft.firewall")


FAILURES: dict[str, Failure] = {
    "none": nothing,
    "a firewall of two, idle, killed": firewall,
    "a firewall of two killed under load": loaded_firewall,
    "the indexer killed": indexer,
    "the compiler killed": compiler,
    "the server killed": server,
    "the firewall's consumer deleted": consumer,
}


def result() -> ContextItem:
    number = next(_numbers)
    text = "\n".join(f"row {number}.{line}: all is well" for line in range(30))
    return ContextItem(f"r{number}", ItemKind.TOOL_RESULT, text)


async def until(attempt: Callable[[], Awaitable[T | None]]) -> T:
    """What `attempt` gives, tried until it gives something."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            try:
                given = await attempt()
            except WeftError:
                given = None
            if given is not None:
                return given
            await asyncio.sleep(0.01)


async def measure(up: Up, client: Client, failure: Failure) -> tuple[float, float]:
    """Seconds to an acknowledgement, and to a compile without anything pending."""
    item = result()
    begun = time.perf_counter()
    await failure(up, client)
    ack = await until(lambda: client.publish("load", item))
    acknowledged = time.perf_counter() - begun

    async def settled() -> bool | None:
        pack = await client.compile("load", "interpret", after=ack.sequence, timeout=1.0)
        return None if pack.pending else True

    await until(settled)
    return acknowledged, time.perf_counter() - begun


async def main() -> None:
    rows = []
    async with stack({**EVERYTHING, "firewall": 2}) as (up, client):
        for name, failure in FAILURES.items():
            seconds = []
            for _ in range(ROUNDS):
                await asyncio.sleep(STEADY_SECONDS)
                seconds.append(await measure(up, client, failure))
            acknowledged, settled = zip(*seconds, strict=True)
            rows.append([name, len(seconds), median(acknowledged), median(settled), max(settled)])
    columns = ["failure", "n", "acknowledged, s", "settled, s", "settled, worst"]
    show("From a failure to the next item", columns, rows)


if __name__ == "__main__":
    asyncio.run(main())
