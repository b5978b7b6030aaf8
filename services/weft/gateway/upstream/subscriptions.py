"""Asks a server for the notifications that hosts want: changed lists and resources, and log
messages. The server is asked for it in the way of its protocol, and again after each restart."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

from weft.gateway.upstream.protocol_version import is_modern

AGAIN_SECONDS = 1.0
"""Before a server that ended its stream is listened to again."""


class Subscriptions:
    """Those of all hosts, at one server."""

    def __init__(self) -> None:
        self.resources: set[str] = set()
        """Addresses of the resources that hosts want to hear about."""
        self.log_level = ""
        """The lowest level of log messages that any host wants."""
        self._changed = asyncio.Event()

    async def subscribe(self, client: Client, uri: str, wanted: bool) -> None:
        """Subscribe to a resource's changes, or unsubscribe."""
        (self.resources.add if wanted else self.resources.discard)(uri)
        self._changed.set()
        if not is_modern(client):
            await _subscribe(client, uri, wanted)

    async def log_at(self, client: Client | None, level: str) -> None:
        """Set its level of log messages: now if it runs, and at each later start."""
        self.log_level = level
        if client is not None:
            await self._tell_level(client)

    async def begin(self, client: Client) -> None:
        """Tell a handshake-era server that was just started; servers of the current protocol are
        listened to."""
        await self._tell_level(client)
        if not is_modern(client):
            for uri in sorted(self.resources):
                with contextlib.suppress(MCPError):  # the resource may be gone
                    await _subscribe(client, uri, True)

    @asynccontextmanager
    async def listening(self, client: Client) -> AsyncIterator[None]:
        """Servers of the current protocol report changes only to listeners; their notifications are
        handled like those of other servers."""
        if not is_modern(client):
            yield
            return
        task = asyncio.create_task(self._listen(client))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _tell_level(self, client: Client) -> None:
        """Handshake-era servers are told; the others learn the level from each request."""
        able = client.server_capabilities
        if not self.log_level or is_modern(client) or able is None or able.logging is None:
            return
        params = types.SetLevelRequestParams.model_validate({"level": self.log_level})
        with contextlib.suppress(MCPError):  # it keeps its level
            await client.session.send_request(
                types.SetLevelRequest(params=params), types.EmptyResult
            )

    async def _listen(self, client: Client) -> None:
        while True:
            self._changed.clear()
            again = asyncio.create_task(self._changed.wait())
            try:
                async with client.listen(
                    tools_list_changed=True,
                    prompts_list_changed=True,
                    resources_list_changed=True,
                    resource_subscriptions=sorted(self.resources),
                ) as events:

                    async def drain(events: Any = events) -> None:
                        async for _ in events:  # the message handler gets them, too
                            pass

                    draining = asyncio.create_task(drain())
                    try:
                        await asyncio.wait([again, draining], return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        draining.cancel()
                        await asyncio.gather(draining, return_exceptions=True)
                    if not again.done():
                        await asyncio.sleep(AGAIN_SECONDS)
            except (MCPError, SubscriptionLost, ListenNotSupportedError, TimeoutError):
                await again
            finally:
                again.cancel()


async def _subscribe(client: Client, uri: str, wanted: bool) -> None:
    request: Any
    if wanted:
        request = types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
    else:
        request = types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri))
    await client.session.send_request(request, types.EmptyResult)
