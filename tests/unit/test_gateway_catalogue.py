"""The gateway's catalogue gets into the log by one task, which goes on until the log has it."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from mcp_types import Tool

from weft.gateway.configuration.config import Options
from weft.gateway.tools.catalogue import ToolCatalogue
from weft.gateway.tools.tool import gateway_tool
from weft_schemas.errors import NotFound, Unavailable
from weft_schemas.routing import Catalog


class Log:
    """A log that is away until `back` is set."""

    def __init__(self) -> None:
        self.back = asyncio.Event()
        self.asked = asyncio.Event()
        self.faults: list[Exception] = []
        """What asking for the weft raises, once each."""
        self.published: list[list[str]] = []

    async def deployment(self) -> Any:
        if self.faults:
            raise self.faults.pop()
        return SimpleNamespace(client=self)

    async def catalog(self, name: str) -> Any:
        raise NotFound(name)

    async def publish_catalog(self, catalog: Catalog) -> None:
        self.asked.set()
        await self.back.wait()
        self.published.append([item.id for item in catalog.items])


def catalogue(*names: str) -> ToolCatalogue:
    folder: Any = None  # nothing is kept here
    made = ToolCatalogue(folder, Options(), {})
    offer(made, *names)
    return made


def offer(one: ToolCatalogue, *names: str) -> None:
    tools = [gateway_tool("s", Tool(name=name, input_schema={"type": "object"})) for name in names]
    one.tools = {tool.id: tool for tool in tools}


async def test_while_the_log_is_away_one_task_waits_and_publishes_the_newest() -> None:
    log: Any = Log()
    one = catalogue("a")
    async with asyncio.timeout(5):
        publishing = asyncio.create_task(one.publish(log))
        await log.asked.wait()
        for name in "bcd":
            offer(one, "a", name)
            await one.publish(log)
        assert not publishing.done()
        log.back.set()
        await publishing
    assert log.published == [["s:a"], ["s:a", "s:d"]]


async def test_a_weft_that_is_not_there_yet_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("weft.gateway.tools.catalogue.AGAIN_SECONDS", 0.01)
    log: Any = Log()
    log.back.set()
    log.faults = [Unavailable("away"), Unavailable("away")]
    async with asyncio.timeout(5):
        await catalogue("a").publish(log)
    assert log.published == [["s:a"]]


async def test_after_a_cancelled_task_the_next_one_publishes() -> None:
    log: Any = Log()
    one = catalogue("a")
    async with asyncio.timeout(5):
        publishing = asyncio.create_task(one.publish(log))
        await log.asked.wait()
        publishing.cancel()
        await asyncio.wait([publishing])
        log.back.set()
        await one.publish(log)
    assert log.published == [["s:a"]]
