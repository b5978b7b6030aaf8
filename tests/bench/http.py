"""HTTP beside the NATS client, in the same run and on the same services.

`python -m tests.bench.http [REQUESTS]`: `weft serve` in a process of its own, asked over kept-alive
connections by a client of a few lines, so that what is measured is the server. Both ways take
turns; rates are medians of the rounds.
"""

import asyncio
import itertools
import sys
import time
from collections.abc import Awaitable, Callable
from statistics import median
from urllib.parse import urlsplit

import msgspec

from tests.bench.stack import stack
from tests.bench.table import quantile, ratio, show
from tests.integration.serving import serving
from weft.client import Client
from weft_schemas.items import ContextItem, ItemKind

REQUESTS = 1_000
ROUNDS = 5
AT_ONCE = 16
BATCH = 500
TEXT = "x" * 880
"""Makes items of about 1 KB."""
_number = itertools.count()

Ask = Callable[[int], Awaitable[None]]


class Connection:
    """One kept-alive connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def post(self, path: str, body: bytes) -> bytes:
        self._writer.write(
            b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (path.encode(), len(body), body)
        )
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        size = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        answer = await self._reader.readexactly(size)
        assert head.startswith(b"http/1.1 200"), answer
        return answer


def items(count: int) -> list[ContextItem]:
    return [ContextItem(f"m{next(_number)}", ItemKind.USER_TURN, TEXT) for _ in range(count)]


async def timed(ask: Ask, count: int, at_once: int) -> tuple[float, list[float]]:
    """Requests per second, and the seconds of each."""
    took: list[float] = []
    left = iter(range(count))

    async def worker(number: int) -> None:
        for _ in left:
            begun = time.perf_counter()
            await ask(number)
            took.append(time.perf_counter() - begun)

    begun = time.perf_counter()
    await asyncio.gather(*(worker(number) for number in range(at_once)))
    return count / (time.perf_counter() - begun), took


def ways(client: Client, connections: list[Connection]) -> dict[str, tuple[Ask, Ask, int, int]]:
    """What is asked → over HTTP, by the client, how many at once, one in how many requests."""

    async def http_one(number: int) -> None:
        body = msgspec.json.encode(items(1)[0])
        await connections[number].post("/v1/sessions/http/items", body)

    async def nats_one(_: int) -> None:
        await client.publish("nats", items(1)[0])

    async def http_many(number: int) -> None:
        body = msgspec.json.encode(items(BATCH))
        await connections[number].post("/v1/sessions/http-many/items", body)

    async def nats_many(_: int) -> None:
        await client.publish("nats-many", items(BATCH))

    async def http_compile(number: int) -> None:
        await connections[number].post("/v1/sessions/read/compile", b'{"phase":"answer"}')

    async def nats_compile(_: int) -> None:
        await client.compile("read", "answer")

    return {
        "publish one, one at a time": (http_one, nats_one, 1, 1),
        f"publish one, {AT_ONCE} at once": (http_one, nats_one, AT_ONCE, 1),
        f"publish {BATCH} in one request": (http_many, nats_many, 1, 50),
        "compile, one at a time": (http_compile, nats_compile, 1, 5),
        f"compile, {AT_ONCE} at once": (http_compile, nats_compile, AT_ONCE, 5),
    }


async def measure(requests: int) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    async with stack() as (up, client), serving(up.settings.nats_url, "--rate", "1e9") as address:
        ack = await client.publish("read", items(50))
        await client.compile("read", "answer", after=ack.sequence, timeout=60)
        place = urlsplit(address)
        connections = [
            Connection(*await asyncio.open_connection(place.hostname, place.port))
            for _ in range(AT_ONCE)
        ]
        for name, (http, nats, at_once, share) in ways(client, connections).items():
            rates: tuple[list[float], list[float]] = ([], [])
            took: tuple[list[float], list[float]] = ([], [])
            count = max(at_once, requests // ROUNDS // share)
            for _ in range(ROUNDS):
                for way, ask in enumerate((http, nats)):
                    rate, seconds = await timed(ask, count, at_once)
                    rates[way].append(rate)
                    took[way].extend(seconds)
            rows.append(
                (
                    name,
                    *(median(one) for one in rates),
                    ratio(*rates),
                    *(1_000 * quantile(one, 0.5) for one in took),
                    *(1_000 * quantile(one, 0.99) for one in took),
                )
            )
    return rows


def main() -> None:
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else REQUESTS
    rows = asyncio.run(measure(requests))
    columns = ("", "HTTP/s", "client/s", "ratio", "HTTP p50 ms", "client p50 ms")
    title = f"weft serve beside the NATS client, {ROUNDS} rounds of each, items of 1 KB"
    show(title, (*columns, "HTTP p99 ms", "client p99 ms"), rows)


if __name__ == "__main__":
    main()
