"""The tools of all servers as hosts can use them: which are trusted and which are quarantined,
their names, and the search for them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Mapping
from typing import Any

import mcp_types as types

from weft import tokens
from weft.gateway.configuration.config import Options
from weft.gateway.data_folder import DataFolder, PinFile
from weft.gateway.hosts.host import Host
from weft.gateway.log.host_log import HostLog
from weft.gateway.protocol_json import as_json
from weft.gateway.tools import search
from weft.gateway.tools.call_refused import CallRefused
from weft.gateway.tools.listing import passed_names
from weft.gateway.tools.own_tools import FIND
from weft.gateway.tools.quarantine import Pin, Quarantined, check_tools
from weft.gateway.tools.tool import GatewayTool, gateway_tools
from weft.gateway.upstream.manifest import read
from weft.gateway.upstream.upstream import Upstream
from weft.router.concepts import Concepts
from weft.router.router import MAX_CARDS, Router
from weft_schemas.errors import WeftError
from weft_schemas.routing import Catalog, RouteRequest, SelectableItem

LEARN_SECONDS = 20.0
"""How long a list waits for servers that were never seen before."""
AGAIN_SECONDS = 10.0
"""Pause before a catalogue that the log could not take is published again."""

_log = logging.getLogger(__name__)


class ToolCatalogue:
    def __init__(
        self,
        folder: DataFolder,
        options: Options,
        upstreams: Mapping[str, Upstream],
        concepts: Concepts | None = None,
    ) -> None:
        """`upstreams` may be filled later."""
        self.tools: dict[str, GatewayTool] = {}
        """Tools by id."""
        self.quarantined: dict[str, Quarantined] = {}
        self.names: dict[str, str] = {}
        """Name that hosts see → id."""
        self.complete = asyncio.Event()
        """Whether every server has been seen once."""
        self._folder = folder
        self._options = options
        self._upstreams = upstreams
        self._router = Router([], concepts=concepts)
        self._pinned_before: dict[str, Pin] | None = None
        self._published: tuple[str, ...] = ()
        self._is_publishing = False
        """One call does it at a time, so that no older catalogue comes after a newer one."""
        self._is_newer = False
        """Whether publishing was asked for since the catalogue was last looked at."""

    async def wait_until_known(self) -> None:
        """Wait for servers that were never seen before, and for lists that have just changed, but
        not for long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LEARN_SECONDS):
                await self.complete.wait()
                for upstream in self._upstreams.values():
                    await upstream.wait_for_lists()

    def tool(self, name: str, host_sees_it: bool = False) -> GatewayTool:
        """A tool by its id, by id and hash, or by the name that hosts see. Raises `CallRefused`,
        with the names of others as the host knows them."""
        tool_id, wanted = self._named(name)
        tool = self.tools.get(tool_id)
        if tool is None:
            raise CallRefused(self._missing(tool_id, host_sees_it))
        if wanted and wanted != tool.hash:
            description = search.found_text([(tool, 1.0)], tokens.DEFAULT_ENCODING, whole=True)
            raise CallRefused(
                f"{tool_id} has changed since {wanted} and was not called. It is now:\n"
                f"{description}"
            )
        return tool

    def has(self, name: str) -> bool:
        """Whether a tool is known by this id or name, with a hash or without."""
        return self._named(name)[0] in self.tools

    def _named(self, name: str) -> tuple[str, str]:
        """The id and the hash in a name; servers may have a `#` in their own names."""
        tool_id = self.names.get(name, name)
        if tool_id in self.tools:
            return tool_id, ""
        plain, _, wanted = tool_id.rpartition("#")
        return (self.names.get(plain, plain), wanted) if plain else (tool_id, "")

    def searches(self, host: Host) -> bool:
        """Whether a host gets the search instead of all tools."""
        options = self._options
        if options.mode != "auto":
            return options.mode == "search"
        if host.name.lower() in options.searching_hosts:
            return False
        if len(self.tools) > options.auto_tools:
            return True
        written = [as_json(tool.item) for tool in self.tools.values()]
        return sum(map(tokens.count, written)) > options.auto_tokens

    async def find(self, arguments: dict[str, Any], encoding: str) -> str:
        """The tools that fit a query, or the named tools, as text for a model. Raises
        `CallRefused`."""
        await self.wait_until_known()
        query, named = str(arguments.get("query") or ""), arguments.get("tools") or []
        if named:
            tools = [(self.tool(str(name)), 1.0) for name in named[:MAX_CARDS]]
            return search.found_text(tools, encoding, whole=True)
        if not query:
            raise CallRefused(f"{FIND}: give a query, or the ids of tools")
        top = min(int(arguments.get("limit") or self._options.find), MAX_CARDS)
        reply = self._router.answer(RouteRequest(query, self._options.catalog, top_k=top))
        tools = [(self.tools[card.id], card.score) for card in reply.cards]
        doubt = ""
        if reply.is_unranked:
            doubt = (
                f"[No tool has a word of the query. These are some of {len(self.tools)}, not "
                "ranked: say it in the words of the tools, in English if they are.]"
            )
        elif reply.abstain:
            doubt = "[None of these may fit: say it in other words.]"
        notes = [doubt, search.quarantine_note(self.quarantined.values())]
        return search.found_text(tools, encoding, notes=filter(None, notes))

    def refresh(self) -> bool:
        """Check again everything that servers have said; returns whether the tools have changed."""
        before = self.tools
        offered: dict[str, GatewayTool] = {}
        for upstream in self._upstreams.values():
            if upstream.manifest is not None:
                offered |= gateway_tools(upstream.name, read(types.Tool, upstream.manifest.tools))
        with self._folder.locked():
            self._check(offered.values())
        self.names = passed_names(self.tools)
        self._router.update(tool.item for tool in self.tools.values())
        return before != self.tools

    async def publish(self, log: HostLog) -> None:
        """Publish the catalogue, so that the log's router knows it, and so that it can be looked up
        later. While the log cannot take it, try again. If another call is doing that, it publishes
        this catalogue too, and this call returns at once."""
        self._is_newer = True
        if self._is_publishing:
            return
        self._is_publishing = True
        try:
            while self._is_newer:
                self._is_newer = False
                while not await self._publish(log):
                    await asyncio.sleep(AGAIN_SECONDS)
        finally:
            self._is_publishing = False

    async def _publish(self, log: HostLog) -> bool:
        """False if it is to be tried again."""
        try:
            deployment = await log.deployment()
            version = tuple(f"{tool.id}#{tool.hash}" for tool in self.tools.values())
            if version == self._published or not version:
                return True
            items = tuple(tool.item for tool in self.tools.values())
            if await self._newest(log) != items:
                await deployment.client.publish_catalog(Catalog(self._options.catalog, items))
        except WeftError as error:
            _log.warning("the catalogue is not published: %s", error)
            return not error.retryable
        self._published = version
        return True

    async def _newest(self, log: HostLog) -> tuple[SelectableItem, ...]:
        """The newest catalogue in the log, so that a restarted gateway publishes none again."""
        try:
            _, newest = await (await log.deployment()).client.catalog(self._options.catalog)
        except WeftError:
            return ()
        return newest.items

    def _check(self, offered: Iterable[GatewayTool]) -> None:
        pinned = self._folder.pinned()
        strict = self._options.collisions == "quarantine"
        checked = check_tools(offered, self._pins(pinned.pins), collisions=strict)
        others = {
            tool.id: tool
            for tool in pinned.quarantined.values()
            if tool.id.partition(":")[0] not in self._upstreams
        }
        now = PinFile(checked.pins, {**others, **checked.quarantined})
        if now != pinned:
            self._folder.keep_pinned(now)
        self.tools, self.quarantined = checked.trusted, checked.quarantined

    def _pins(self, pins: Mapping[str, Pin]) -> Mapping[str, Pin]:
        """The pins that apply. Until all servers were seen once, these are the earlier pins and
        what was approved since: of two new servers with a tool of one name, the first in the file
        gets it, not the faster one."""
        if self.complete.is_set():
            return pins
        if self._pinned_before is None:
            self._pinned_before = dict(pins)
        return self._pinned_before | {key: pin for key, pin in pins.items() if pin.approved}

    def _missing(self, tool_id: str, host_sees_it: bool) -> str:
        quarantined = self.quarantined.get(tool_id)
        if quarantined is not None:
            return (
                f"{tool_id} is quarantined: {quarantined.reason}. A person can look at it with "
                f"`weft gateway status` and let it through: "
                f"weft gateway approve '{quarantined.id}#{quarantined.hash}'"
            )
        words = tool_id.replace(":", " ").replace("__", " ")
        near = [card.id for card in self._router.route(RouteRequest(words, "", top_k=3)).cards]
        if host_sees_it:
            listed = {key: name for name, key in self.names.items()}
            near = [listed[key] for key in near]
        names = ", ".join(near) or "none"
        return f"there is no tool {tool_id[:120]!r}; the nearest are {names}"
