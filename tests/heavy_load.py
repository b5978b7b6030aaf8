"""What costs a service much, asked by one tenant without pause; how long another waits meanwhile,
and how long `/live` takes. For the proof that nobody is held up, and for its measurement.

`python -m tests.heavy_load URL SECRET asking` asks until it is killed; with `publishing` it
publishes huge results and compiles from them; with `compiling` it compiles large sessions.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from statistics import median
from typing import Any, NamedTuple
from urllib.request import urlopen

import msgspec
import nats
from msgspec.structs import replace
from nats.errors import Error as NatsError

from tests.retrying import PATIENCE, patiently
from weft.client import Client
from weft.log.reading import last_sequence
from weft.runtime.settings import Settings
from weft.runtime.subprocess_worker import in_own_session
from weft_schemas.compile import CompileRequest, DrilldownRequest
from weft_schemas.errors import WeftError
from weft_schemas.ids import artifact_handle, handle_key
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase
from weft_schemas.routing import Catalog, HydrateRequest, SelectableItem

HOSTILE, VICTIM = "rival", "acme"
ROWS = 140_000
"""Of a table of 6 MB."""
DRILLDOWNS, COMPILES, HYDRATIONS, SMALL = 20, 4, 4, 20
"""Requests of each kind that are in the air at any time; the last are small compiles."""
HUGE = (50_000_000, 6_000_000, *4 * (250_000,))
"""About the bytes of results that are published one after the other."""
FROM_HUGE = (2_000, 32_000, 128_000)
"""Budgets of compiles from them that are in the air at any time."""
LARGE_COMPILES = 8
"""Compiles at 128,000 tokens, of a session of 60 texts of 2,500 words, in the air at any time."""
LOADS = {"asking": 1.5, "publishing": 4.0, "compiling": 1.5}
"""Load → seconds until it is there."""
SETTLING = 0.5
"""Seconds until what was begun of it has ended."""
_SCHEMA = {"type": "object", "properties": {"order_id": {"type": "string"}}}
_WORDS = [
    "order",
    "parcel",
    "invoice",
    "delay",
    "Lisbon",
    "refund",
    "carrier",
    "customs",
    "stock",
    "label",
]


def prose(number: int, words: int) -> str:
    """Sentences that do not repeat, with values in them."""
    said = (_WORDS[(number * 7 + n * n) % len(_WORDS)] for n in range(words))
    return f"ORD_{number} is late. " + " ".join(
        f"{word} {number + at}." if at % 6 == 5 else word for at, word in enumerate(said)
    )


def turns(count: int, words: int) -> list[ContextItem]:
    kinds = (ItemKind.USER_TURN, ItemKind.AGENT_MSG)
    return [ContextItem(f"i{n}", kinds[n % 2], prose(n, words)) for n in range(count)]


def table(rows: int) -> str:
    """Of 40 characters a row."""
    return "id,name,price,stock\n" + "".join(
        f"{n},item {n} of the catalogue,{n % 977}.50,{n % 31}\n" for n in range(rows)
    )


async def publish(hostile: Client, victim: Client) -> None:
    """What is asked about, folded and settled."""
    await hostile.publish("table", ContextItem("r", ItemKind.TOOL_RESULT, table(ROWS)))
    await hostile.publish("long", turns(600, 160))
    await hostile.publish("texts", turns(60, 2_500))
    await hostile.publish_catalog(Catalog("c", (SelectableItem("t", "t", args_schema=_SCHEMA),)))
    for client in (victim, hostile):
        await client.publish("good", turns(40, 60))
    await settled(hostile)


async def settled(client: Client) -> None:
    """Return when all that is in the log is worked on."""
    last = await last_sequence(client.connection)
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await patiently(client.status)
            if found.sequence >= last and not found.pending:
                return
            await asyncio.sleep(0.1)


def requests(secret: str) -> list[tuple[str, msgspec.Struct]]:
    """Service and session → what is asked again and again."""
    handle = artifact_handle(HOSTILE, "table", "r", handle_key(secret.encode()))
    views = ({"start": ROWS - 5_000}, {"pattern": "item 139999 .*"})
    return [
        *(
            ("@tenant.drilldown", DrilldownRequest(handle, ("rows", "search")[n % 2], views[n % 2]))
            for n in range(DRILLDOWNS)
        ),
        *(
            ("long.compile", CompileRequest(Phase.ANSWER, f"order {n}", budget=128_000))
            for n in range(COMPILES)
        ),
        *(("texts.hydrate", HydrateRequest("t", "c", f"order {n}")) for n in range(HYDRATIONS)),
        *(("long.compile", CompileRequest(Phase.CALL, f"order {n}")) for n in range(SMALL)),
    ]


def large_compiles() -> list[tuple[str, msgspec.Struct]]:
    return [
        ("texts.compile", CompileRequest(Phase.ANSWER, f"order {n}", budget=128_000))
        for n in range(LARGE_COMPILES)
    ]


async def attack(url: str, secret: str, load: str) -> None:
    """As tenant `HOSTILE`; what is answered is not looked at."""
    in_own_session(19)  # who asks is on another machine
    loads = {
        "asking": partial(_asking, requests(secret)),
        "publishing": partial(_publishing, secret=secret),
        "compiling": partial(_asking, large_compiles()),
    }
    await loads[load](url)


async def _asking(wanted: list[tuple[str, msgspec.Struct]], url: str) -> None:
    """By bare NATS."""
    client = await nats.connect(url)

    async def ask(address: str, payload: bytes) -> None:
        while True:
            try:
                await client.request(f"weft-rpc.{HOSTILE}.{address}", payload, timeout=60)
            except NatsError:
                await asyncio.sleep(0.1)
            await asyncio.sleep(0.02)

    asked = [(address, msgspec.json.encode(one)) for address, one in wanted]
    await asyncio.gather(*(ask(*one) for one in asked))


async def _publishing(url: str, secret: str) -> None:
    settings = Settings(nats_url=url, fingerprint_key=secret, tenant=HOSTILE)
    texts = [prose(at, size // 8) if at % 2 else table(size // 40) for at, size in enumerate(HUGE)]
    async with Client(settings) as client:
        await client.publish("huge", ContextItem("u", ItemKind.USER_TURN, "Which order is late?"))
        await asyncio.gather(_huge(client, texts), *(_from_huge(client, one) for one in FROM_HUGE))


async def _huge(client: Client, texts: Sequence[str]) -> None:
    """Calls with these results, again and again, when the ones before are worked on."""
    for number in itertools.count():
        for at, text in enumerate(texts):
            call = ContextItem(f"c{number}-{at}", ItemKind.TOOL_CALL, "list_orders({})")
            result = ContextItem(f"r{number}-{at}", ItemKind.TOOL_RESULT, text, call.id)
            await client.publish("huge", [call, result])
        await settled(client)


async def _from_huge(client: Client, budget: int) -> None:
    for number in itertools.count():
        try:
            await client.compile("huge", "answer", query=f"order {number}", budget=budget)
        except WeftError:
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.02)


@asynccontextmanager
async def attacking(url: str, secret: str, load: str) -> AsyncIterator[None]:
    """Another process loads within the block."""
    command = (sys.executable, "-m", "tests.heavy_load", url, secret, load)
    process = await asyncio.create_subprocess_exec(*command)
    try:
        await asyncio.sleep(LOADS[load])
        yield
    finally:
        process.kill()
        await process.wait()


class Window(msgspec.Struct):
    """Seconds, sorted: of a tenant's small compiles, and of `/live` by service."""

    compiles: list[float]
    live: dict[str, list[float]]


async def window(client: Client, ports: dict[str, int], times: int) -> Window:
    """So many compiles, one after the other, and meanwhile a look at each `/live` without pause."""
    compiling = asyncio.create_task(_compiles(client, times))
    live = await asyncio.gather(*(_live(port, compiling) for port in ports.values()))
    return Window(await compiling, dict(zip(ports, live, strict=True)))


async def _compiles(client: Client, times: int) -> list[float]:
    taken = []
    for number in range(times):
        begun = time.perf_counter()
        await client.compile("good", "answer", query=f"order {number}", budget=2_000)
        taken.append(time.perf_counter() - begun)
    return sorted(taken)


async def _live(port: int, until: asyncio.Task[Any]) -> list[float]:
    def look() -> float:
        begun = time.perf_counter()
        with urlopen(f"http://127.0.0.1:{port}/live", timeout=60) as reply:
            reply.read()
        return time.perf_counter() - begun

    taken = []
    while not until.done():
        taken.append(await asyncio.to_thread(look))
        await asyncio.sleep(0.02)
    return sorted(taken)


def p99(taken: list[float]) -> float:
    """Of sorted values, by nearest rank."""
    return taken[min(len(taken) - 1, int(0.99 * len(taken)))]


class Measured(msgspec.Struct):
    """Windows in turn: without the load and beside it."""

    quiet: list[Window] = []
    beside: list[Window] = []
    own: list[Window] = []
    """Beside the load, of the tenant whose load it is, from a session with the same texts; empty if
    that load has small compiles of its own, or fills the log."""

    def compile_p99(self, windows: list[Window]) -> float:
        """Seconds: the median over the windows."""
        return median(p99(one.compiles) for one in windows)

    def compile_p50(self, windows: list[Window]) -> float:
        """The same of the medians."""
        return median(median(one.compiles) for one in windows)

    def live_longest(self, windows: list[Window], service: str) -> float:
        """Seconds: the median over the windows of the longest in each."""
        return median(one.live[service][-1] for one in windows)

    @property
    def services(self) -> list[str]:
        return sorted(self.quiet[0].live)


class Ready(NamedTuple):
    """Who asks, and where each service tells that it lives."""

    victim: Client
    hostile: Client
    ports: dict[str, int]


@asynccontextmanager
async def ready(settings: Settings) -> AsyncIterator[Ready]:
    """When all is published."""
    async with (
        Client(replace(settings, tenant=VICTIM)) as victim,
        Client(replace(settings, tenant=HOSTILE)) as hostile,
    ):
        await publish(hostile, victim)
        yield Ready(victim, hostile, {one.service: one.port for one in await victim.processes()})


async def measured(
    ready: Ready, settings: Settings, load: str, windows: int, times: int
) -> Measured:
    """So many windows of each, in turn, so that what else the machine does meets both."""
    found = Measured([], [], [])
    victim, hostile, ports = ready
    await window(victim, ports, times)  # caches and connections
    for _ in range(windows):
        found.quiet.append(await window(victim, ports, times))
        async with attacking(settings.nats_url, settings.fingerprint_key, load):
            found.beside.append(await window(victim, ports, times))
            if load == "compiling":
                found.own.append(await window(hostile, ports, times))
        await settled(hostile)
        await asyncio.sleep(SETTLING)
    return found


if __name__ == "__main__":
    asyncio.run(attack(*sys.argv[1:]))
