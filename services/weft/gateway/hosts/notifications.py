"""Passes servers' notifications on to the hosts that want them: changed lists, changed resources,
log messages."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import mcp_types as types
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)

from weft.gateway.hosts import safe_messages
from weft.gateway.hosts.host import Host, Hosts
from weft.gateway.hosts.questions import Questions
from weft.gateway.log.host_log import HostLog
from weft.gateway.masking import safe_model
from weft.gateway.resources import gateway_uri
from weft.gateway.upstream.upstream import Upstream


class Notifications:
    """Sends to handshake-era hosts at once, to others through their subscriptions."""

    def __init__(
        self,
        hosts: Hosts,
        log: HostLog,
        questions: Questions,
        searches: Callable[[Host], bool],
    ) -> None:
        """`searches` says whether a host gets the search instead of all tools now."""
        self.bus = InMemorySubscriptionBus()
        """The subscriptions of hosts of the current protocol."""
        self._hosts = hosts
        self._log = log
        self._questions = questions
        self._searches = searches

    async def changed(self, what: str) -> None:
        event, note = _CHANGES[what]
        await self.bus.publish(event())
        for host in self._hosts:
            if what != "tools" or not (host.lists_search and self._searches(host)):
                await self._tell(host, note())

    async def notified(self, upstream: Upstream, note: types.ServerNotification) -> None:
        if isinstance(note, types.ResourceUpdatedNotification):
            uri = gateway_uri(upstream.name, str(note.params.uri))
            await self.bus.publish(ResourceUpdated(uri=uri))
            notification = types.ResourceUpdatedNotification(
                params=types.ResourceUpdatedNotificationParams(uri=uri)
            )
            for host in self._hosts:
                if uri in host.subscribed:
                    await self._tell(host, notification)
        elif isinstance(note, types.LoggingMessageNotification):
            await self._log_message(upstream, note)
        elif isinstance(note, types.ElicitCompleteNotification):
            for host in self._hosts:
                shown = safe_model(note.params, await self._log.masking(host))
                if shown is not None:
                    await self._tell(host, types.ElicitCompleteNotification(params=shown))

    async def _log_message(
        self, upstream: Upstream, note: types.LoggingMessageNotification
    ) -> None:
        level = note.params.level
        for host in self._hosts:
            if host.sender is not None and host.hears(level):
                await self._tell(host, await self._shown_log(upstream, note, host))
        for call in self._questions.calls_at(upstream):
            if call.host.is_modern and call.hears(level):
                shown = await self._shown_log(upstream, note, call.host)
                with contextlib.suppress(Exception):
                    await call.context.session.send_notification(
                        shown, related_request_id=call.context.request_id
                    )

    async def _shown_log(
        self, upstream: Upstream, note: types.LoggingMessageNotification, host: Host
    ) -> types.LoggingMessageNotification:
        masking = await self._log.masking(host)
        params = safe_messages.log_message(upstream.name, note.params, masking)
        return note.model_copy(update={"params": params})

    async def _tell(self, host: Host, note: types.ServerNotification) -> None:
        if host.sender is not None:
            with contextlib.suppress(Exception):  # the host may be gone
                await host.sender.send_notification(note)


_CHANGES: dict[str, tuple[Any, Any]] = {
    "tools": (ToolsListChanged, types.ToolListChangedNotification),
    "prompts": (PromptsListChanged, types.PromptListChangedNotification),
    "resources": (ResourcesListChanged, types.ResourceListChangedNotification),
}
