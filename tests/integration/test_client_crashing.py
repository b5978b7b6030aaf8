"""A publisher that dies between two steps: publishing again leaves every item once."""

import asyncio
import signal
import sys

import pytest
from tests.integration.logged import stored
from tests.integration.processes import started

from weft.client import Client
from weft.log.connection import Connection
from weft.runtime.settings import Settings
from weft_schemas.items import ContextItem, ItemKind

ITEMS = [
    ContextItem(id="small", kind=ItemKind.USER_TURN, text="Look at these."),
    ContextItem(id="large", kind=ItemKind.TOOL_RESULT, text="All is well. " * 50_000),
]


async def publish(url: str) -> None:
    async with Client(Settings(nats_url=url, tenant="acme")) as client:
        await client.publish("s1", ITEMS)


@pytest.mark.parametrize("step", ["store_body", "publish"])
async def test_publishing_again_after_a_crash_leaves_every_item_once(server, log: Connection, step):
    environ = {"WEFT_CRASH_AT": f"publisher.after_{step}:1"}
    async with started("tests.integration.test_client_crashing", server.url, **environ) as first:
        assert await first.gone() == -signal.SIGKILL
    await publish(server.url)
    items = {event.id: event for _, event in await stored(log, "in")}
    assert len(await stored(log, "in")) == len(items) == 2
    assert items["large"].body.size == len(ITEMS[1].text)


if __name__ == "__main__":
    asyncio.run(publish(sys.argv[1]))
