"""Routes that would hold the loop are left to a thread, one at a time of each catalogue."""

import asyncio
import threading
from contextlib import asynccontextmanager, nullcontext

import msgspec
import pytest
from tests.retrying import PATIENCE

from weft.log.record import LogRecord
from weft.router import catalog_routers
from weft.router.catalog_routers import CatalogRouter, CatalogRouters
from weft.router.router import Router
from weft_schemas.errors import NotFound, Unavailable
from weft_schemas.events import ErasedEvent, encode_event
from weft_schemas.routing import Catalog, RouteReply, RouteRequest, SelectableItem

WORDS = [f"{first}{second}" for first in "abcdefghijklmnop" for second in "qrstuvwxyz"]
ITEMS = [
    SelectableItem(f"t{n}", f"tool {n}", " ".join(WORDS[(n * 7 + k * k) % 160] for k in range(12)))
    for n in range(3_000)
]
LONG = " ".join(WORDS) * 12


class Watched(Router):
    """In another thread than the loop's, a route waits until the loop comes by."""

    def __init__(self, items: list[SelectableItem]) -> None:
        super().__init__(items)
        self.loop = asyncio.get_running_loop()
        self.loops_thread = threading.get_ident()
        self.came_by: list[bool] = []

    def route(self, request: RouteRequest, query: str | None = None) -> RouteReply:
        if threading.get_ident() != self.loops_thread:
            came_by = threading.Event()
            self.loop.call_soon_threadsafe(came_by.set)
            self.came_by.append(came_by.wait(PATIENCE))
        return super().route(request, query)


async def turns_held(held: CatalogRouter, query: str) -> int:
    """How often the loop was held while a query was routed."""
    turns = 0

    @asynccontextmanager
    async def turn():
        nonlocal turns
        turns += 1
        yield

    reply = await held.route(RouteRequest(query, "c"), query, turn())
    direct = Router(held.router.items.values()).route(RouteRequest(query, "c"), query)
    assert reply == msgspec.structs.replace(direct, catalog_version=held.version)
    return turns


async def test_a_long_query_over_many_tools_does_not_hold_the_loop() -> None:
    router = Watched(ITEMS)
    held = CatalogRouter(1, router)
    assert await turns_held(held, LONG) == 0
    assert router.came_by == [True]
    assert await turns_held(held, "aq br") == 1
    assert router.came_by == [True]


async def test_a_router_is_asked_by_one_at_a_time() -> None:
    held = CatalogRouter(1, Router(ITEMS[:50]))
    async with held.asked:
        routing = asyncio.create_task(turns_held(held, "aq br"))
        await asyncio.sleep(0.01)
        assert not routing.done()
    assert await routing == 1


class Held(Router):
    """A route in a thread waits until it is allowed to go on."""

    def __init__(self, items: list[SelectableItem]) -> None:
        super().__init__(items)
        self.begun, self.go_on = threading.Event(), threading.Event()

    def route(self, request: RouteRequest, query: str | None = None) -> RouteReply:
        self.begun.set()
        assert self.go_on.wait(PATIENCE)
        return super().route(request, query)


async def test_a_route_that_is_cancelled_keeps_its_router_until_its_thread_has_ended() -> None:
    held = CatalogRouter(1, Held(ITEMS))
    routing = asyncio.create_task(held.route(RouteRequest(LONG, "c"), LONG, nullcontext()))
    await asyncio.to_thread(held.router.begun.wait, PATIENCE)
    updating = asyncio.create_task(held.update(2, Catalog("c", tuple(ITEMS[:-1]))))
    for _ in range(2):
        routing.cancel()
        await asyncio.sleep(0.01)
        assert not updating.done()
    held.router.go_on.set()
    await updating
    with pytest.raises(asyncio.CancelledError):
        await routing


async def no_body(*_: object) -> bytes:
    raise NotFound("no body")


def catalogues(newest: int) -> CatalogRouters:
    """None taken yet, while the log has events up to `newest`."""

    async def newest_of(tenant: str) -> int:
        return newest

    return CatalogRouters(no_body, "cl100k_base", None, newest_of)


def published(sequence: int, tools: list[SelectableItem]) -> LogRecord:
    payload = encode_event(Catalog("tools", tuple(tools)))
    return LogRecord(sequence, "w.out.0.acme.@tenant.catalog", 0, payload)


async def test_a_catalogue_on_its_way_is_waited_for() -> None:
    held = catalogues(newest=5)
    asked = [
        asyncio.create_task(held.held("acme", "tools", 0, 0.0)),
        asyncio.create_task(held.current("acme", "tools", 9)),
    ]
    await asyncio.sleep(0.01)
    await held.take(published(5, ITEMS[:3]))
    assert [one.version for one in await asyncio.gather(*asked)] == [5, 5]


async def test_a_version_on_its_way_is_waited_for_where_a_later_sequence_is_named() -> None:
    held = catalogues(newest=7)
    await held.take(published(5, ITEMS[:3]))
    assert (await held.current("acme", "tools", 5)).version == 5
    later = asyncio.create_task(held.current("acme", "tools", 9))
    await asyncio.sleep(0.01)
    await held.take(published(7, ITEMS[:4]))
    assert (await later).version == 7


async def test_a_route_that_waits_for_an_update_names_the_version_that_it_shows() -> None:
    held = catalogues(newest=5)
    await held.take(published(5, ITEMS[:40]))
    asked = await held.current("acme", "tools")
    async with asked.asked:  # as by a long query
        learning = asyncio.create_task(held.take(published(7, ITEMS[:41])))
        await asyncio.sleep(0)
        request = RouteRequest("aq br", "tools")
        routing = asyncio.create_task(asked.route(request, "aq br", nullcontext()))
        await asyncio.sleep(0)
    reply = await routing
    assert (reply.total_leaves, reply.catalog_version) == (41, 7)
    await learning
    assert (await held.held("acme", "tools", 7, 0.0)).version == 7


async def test_what_the_log_lacks_is_missing_at_once() -> None:
    held = catalogues(newest=5)
    held.reached(5)
    with pytest.raises(NotFound, match="'tools' is not in the log"):
        await held.held("acme", "tools", 0, 0.0)


async def test_what_does_not_come_in_time_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(catalog_routers, "_CATCH_UP_SECONDS", 0.05)
    with pytest.raises(Unavailable, match="still being read"):
        await catalogues(newest=5).held("acme", "tools", 0, 0.0)


async def test_the_version_before_a_refused_one_is_used_when_a_router_starts() -> None:
    """A log may hold a catalogue of a client that did not check it."""
    good, newer = published(5, ITEMS[:3]), published(7, ITEMS[:4])
    refused = published(9, [ITEMS[0], ITEMS[0]])
    held = catalogues(newest=9)
    await held.take_so_far([good, newer, refused])
    assert (await held.current("acme", "tools")).version == 7


async def test_of_an_erased_tenant_no_version_comes_back() -> None:
    subject = "w.out.0.acme.@tenant.erased"
    erased = LogRecord(7, subject, 0, encode_event(ErasedEvent(None, "on request")))
    held = catalogues(newest=9)
    await held.take_so_far([published(5, ITEMS[:3]), erased, published(9, [ITEMS[0], ITEMS[0]])])
    with pytest.raises(NotFound, match="'tools' is not in the log"):
        await held.current("acme", "tools")
