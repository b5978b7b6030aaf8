"""Routes that would hold the loop are left to a thread, one at a time of each catalogue."""

import asyncio
import threading
from contextlib import asynccontextmanager

from tests.retrying import PATIENCE

from weft.router.catalog_routers import CatalogRouter
from weft.router.router import Router
from weft_schemas.routing import RouteReply, RouteRequest, SelectableItem

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
    assert reply == Router(held.router.items.values()).route(RouteRequest(query, "c"), query)
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
