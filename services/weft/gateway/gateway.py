"""The life of one gateway: it starts its servers once to learn what they offer, keeps that in its
folder, and owns the parts that handle hosts' requests."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Self

import mcp_types as types

from weft.gateway.background import Background
from weft.gateway.calls import Calls
from weft.gateway.configuration.config import GatewayConfig, ServerSpec
from weft.gateway.data_folder import DataFolder, GatewayState, ServerState
from weft.gateway.hosts.host import Hosts
from weft.gateway.hosts.questions import Questions
from weft.gateway.log.deployment import GatewayDeployment
from weft.gateway.log.host_log import HostLog
from weft.gateway.tools.catalogue import ToolCatalogue
from weft.gateway.upstream.manifest import spec_digest
from weft.gateway.upstream.upstream import Upstream
from weft.router.concepts import concepts_in
from weft_schemas.errors import WeftError

AT_ONCE = 4
"""Servers that are started at the same time to learn what they offer."""
_STATE_SECONDS = 1.0
"""Between two checks for approvals, and two reports of the servers' state."""


class Gateway:
    """`async with Gateway(config, deployment, folder) as gateway:`"""

    def __init__(
        self,
        config: GatewayConfig,
        deployment: GatewayDeployment,
        folder: DataFolder,
        *,
        session: str = "",
        source: str = "",
    ) -> None:
        self.options = config.options
        self.upstreams: dict[str, Upstream] = {}
        self.background = Background()
        self.log = HostLog(deployment)
        self.hosts = Hosts(session, self.log.session_after)
        self.questions = Questions(self.log, self.background)
        concepts = concepts_in(deployment.settings.router_concepts)
        self.catalogue = ToolCatalogue(folder, self.options, self.upstreams, concepts)
        self.calls = Calls(
            self.options,
            self.upstreams,
            self.catalogue,
            self.log,
            self.questions,
            self.background,
        )
        self.changed: Callable[[str], Awaitable[None]] = _ignore_change
        """Called with `tools`, `prompts` or `resources` when what is offered has changed."""
        self.notified: Callable[[Upstream, types.ServerNotification], Awaitable[None]] = (
            _ignore_note
        )
        self.address = ""
        """The address for HTTP; empty for stdio."""
        self._source = source
        self._folder = folder
        self.upstreams |= {name: self._upstream(spec) for name, spec in config.servers.items()}

    async def __aenter__(self) -> Self:
        self.log.open()
        self._refresh()
        unknown = [server for server in self.upstreams.values() if server.manifest is None]
        self.background.spawn(self._learn(unknown))
        self.background.spawn(self._watch_folder())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.background.close()
        await asyncio.gather(*(upstream.close() for upstream in self.upstreams.values()))
        self._folder.forget_state()
        await self.log.close()

    def _upstream(self, spec: ServerSpec) -> Upstream:
        return Upstream(
            spec,
            self._folder.manifest(spec.name, spec_digest(spec)),
            self._folder.sign_in(spec.name, spec.url),
            asked=self.questions.ask,
            changed=self._learned,
            notified=self._notified,
            refused=self.questions.log_refused,
        )

    async def _learn(self, upstreams: list[Upstream]) -> None:
        """Start the servers that were never seen before, a few at a time."""
        turns = asyncio.Semaphore(AT_ONCE)

        async def start(upstream: Upstream) -> None:
            async with turns:
                with contextlib.suppress(WeftError):
                    await upstream.client()

        await asyncio.gather(*map(start, upstreams))
        self.catalogue.complete.set()
        self._keep_state()

    async def _learned(self, upstream: Upstream) -> None:
        """A server's description of itself has changed."""
        assert upstream.manifest is not None
        self._folder.keep_manifest(upstream.name, upstream.manifest)
        if self._refresh():
            await self._tools_changed()
        await self.changed("prompts")
        await self.changed("resources")
        self._keep_state()

    async def _tools_changed(self) -> None:
        """A host that asks for its tools again loses its prompt cache, which searching is to keep:
        in that mode the list is the same."""
        if self.options.mode != "search":
            await self.changed("tools")

    async def _notified(self, upstream: Upstream, note: types.ServerNotification) -> None:
        await self.notified(upstream, note)

    def _refresh(self) -> bool:
        has_changed = self.catalogue.refresh()
        self.background.spawn(self.catalogue.publish(self.log))
        return has_changed

    async def _watch_folder(self) -> None:
        """While the gateway runs, a person may approve tools, sign in, or ask for its state."""
        pins, sign_ins = self._folder.stamp(), self._sign_ins()
        while True:
            self._keep_state()
            await asyncio.sleep(_STATE_SECONDS)
            now = self._sign_ins()
            new = [self.upstreams[name] for name in now if now[name] != sign_ins.get(name)]
            if new:
                self._try_again(new)
            sign_ins = now
            if self._folder.stamp() != pins:
                if self._refresh():
                    await self._tools_changed()
                pins = self._folder.stamp()

    def _sign_ins(self) -> dict[str, float]:
        """Server → when somebody signed in to it, or its tokens were last renewed."""
        times = {}
        for name, upstream in self.upstreams.items():
            with contextlib.suppress(OSError):
                times[name] = self._folder.sign_in(name, upstream.spec.url).stat().st_mtime
        return times

    def _try_again(self, upstreams: list[Upstream]) -> None:
        """The servers that could not be reached without a sign-in."""
        for upstream in upstreams:
            upstream.try_again()
        unknown = [upstream for upstream in upstreams if upstream.manifest is None]
        self.background.spawn(self._learn(unknown))

    def _keep_state(self) -> None:
        per_server = Counter(tool.server for tool in self.catalogue.tools.values())
        servers = tuple(
            ServerState(
                upstream.name,
                upstream.state,
                per_server[upstream.name],
                upstream.calls,
                upstream.failures,
                upstream.last_error,
                upstream.manifest.protocol if upstream.manifest else "",
                upstream.errors,
            )
            for upstream in self.upstreams.values()
        )
        hosts = tuple(f"{host.name} ({host.session})" for host in self.hosts)
        state = GatewayState(
            os.getpid(),
            self._source,
            self.options.mode,
            self.log.address,
            servers,
            hosts,
            self.address,
            self.log.fault,
        )
        self._folder.keep_state(state)


async def _ignore_change(_: str) -> None:
    return None


async def _ignore_note(_: Upstream, __: types.ServerNotification) -> None:
    return None
