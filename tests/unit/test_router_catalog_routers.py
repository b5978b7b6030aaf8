"""Routes that would hold the loop are left to a thread, one at a time of each catalogue."""

import asyncio
from contextlib import asynccontextmanager

from weft.router.catalog_routers import CatalogRouter
from weft.router.router import Router
from weft_schemas.routing import RouteRequest, SelectableItem

WORDS = [f"{first}{second}" for first in "abcdefghijklmnop" for second in "qrstuvwxyz"]
ITEMS = [
    SelectableItem(f"t{n}", f"tool {n}", " ".join(WORDS[(n * 7 + k * k) % 160] for k in range(12)))
    for n in range(3_000)
]
LONG = " ".join(WORDS) * 12


async def looks(held: CatalogRouter, query: str) -> tuple[int, int]:
    """How often the loop came by while a query was routed, and how often it was held for it."""
    ticks = turns = 0
    is_done = False

    async def tick() -> None:
        nonlocal ticks
        while not is_done:
            ticks += 1
            await asyncio.sleep(0)

    @asynccontextmanager
    async def turn():
        nonlocal turns
        turns += 1
        yield

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0)
    ticks = 0
    reply = await held.route(RouteRequest(query, "c"), query, turn())
    is_done = True
    await ticking
    assert reply == held.router.route(RouteRequest(query, "c"), query)
    return ticks, turns


async def test_a_long_query_over_many_tools_does_not_hold_the_loop() -> None:
    held = CatalogRouter(1, Router(ITEMS))
    ticks, turns = await looks(held, LONG)
    assert ticks > 2
    assert turns == 0
    assert await looks(held, "aq br") == (0, 1)


async def test_a_router_is_asked_by_one_at_a_time() -> None:
    held = CatalogRouter(1, Router(ITEMS[:50]))
    async with held.asked:
        routing = asyncio.create_task(looks(held, "aq br"))
        await asyncio.sleep(0.01)
        assert not routing.done()
    assert (await routing)[1] == 1
