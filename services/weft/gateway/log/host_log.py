"""The log as a host's requests use it: items are published, the rules in force for a session looked
up, and handles made for results."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any

from weft.gateway.hosts.host import Host
from weft.gateway.log.deployment import GatewayDeployment
from weft.gateway.log.items import call_item, result_item
from weft.gateway.masking import Masking
from weft.gateway.results.handles import Handles
from weft_schemas.errors import Unavailable, WeftError
from weft_schemas.items import ContextItem

AGAIN_SECONDS = 2.0
"""Between two attempts to open a log that is away."""

_log = logging.getLogger(__name__)


class HostLog:
    """Usable at once; methods that need the log wait for the first attempt to open it."""

    def __init__(self, deployment: GatewayDeployment) -> None:
        self._deployment = deployment
        self._opened: asyncio.Future[GatewayDeployment]
        self._closing = asyncio.Event()
        self._handles: Handles | None = None

    def open(self) -> None:
        """Begin to open the log."""
        self._opened = asyncio.get_running_loop().create_future()
        self._running = asyncio.create_task(self._run())

    async def close(self) -> None:
        self._closing.set()
        await asyncio.gather(self._running, return_exceptions=True)

    async def deployment(self) -> GatewayDeployment:
        """The weft. Raises `Unavailable` while it cannot be reached."""
        return await asyncio.shield(self._opened)

    @property
    def address(self) -> str:
        """The log's address; empty until it is open."""
        is_open = self._opened.done() and not self._opened.exception()
        return self._opened.result().settings.nats_url if is_open else ""

    @property
    def fault(self) -> str:
        """Why the log is not open; empty if it is, or if the first attempt is not over."""
        return str(self._opened.exception() or "") if self._opened.done() else ""

    def session_after(self, session: str) -> str:
        """The name under which a host's session continues: a new one if the session was erased."""
        is_open = self._opened.done() and not self._opened.exception()
        return self._opened.result().session_after(session) if is_open else session

    async def publish(self, host: Host, *items: ContextItem) -> int:
        """Publish items; returns the last one's sequence. Raises what `Client.publish` raises."""
        deployment = await self.deployment()
        return (await deployment.client.publish(host.session, items)).sequence

    async def keep(self, host: Host, item: ContextItem) -> int | None:
        """Publish a result; returns its place in the log, or None if the log cannot be reached: the
        call was made, and the model has to learn its result."""
        try:
            return await self.publish(host, item)
        except WeftError as error:
            _log.error("a result is not in the log: %s", error)
            return None

    async def record(self, host: Host, name: str, arguments: dict[str, Any], said: str) -> None:
        """Log a request other than a tool call: a list, a resource, a prompt."""
        call = call_item(name, arguments, host.name)
        await self.publish(host, call, result_item(call, said))

    async def masking(self, host: Host) -> Masking:
        """The policy that applies now to results in a host's session."""
        return _masking(await self.deployment(), host.session)

    async def handles(self) -> Handles:
        deployment = await self.deployment()
        if self._handles is None:
            self._handles = Handles(
                deployment.client,
                lambda session: deployment.policy(session)[1],
                lambda session: _masking(deployment, session),
                deployment.is_own,
            )
        return self._handles

    async def _run(self) -> None:
        """Opens the deployment, again and again while it is away, and closes it, in one and the
        same task."""
        while await self._is_away():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), AGAIN_SECONDS)

    async def _is_away(self) -> bool:
        """False once it was open or cannot be opened at all, or this is closing."""
        is_open = False
        try:
            async with self._deployment as deployment:
                is_open = True
                self._new_outcome().set_result(deployment)
                await self._closing.wait()
        except BaseException as error:
            if is_open:
                if not isinstance(error, asyncio.CancelledError):
                    _log.exception("the log behind the gateway was lost")
                return False
            if isinstance(error, WeftError):
                _log.error("the gateway has no log: %s", error)
            outcome = self._new_outcome()
            outcome.set_exception(error)
            outcome.exception()
            return isinstance(error, Unavailable) and not self._closing.is_set()
        return False

    def _new_outcome(self) -> asyncio.Future[GatewayDeployment]:
        """Of the latest attempt, in place of that of the one before."""
        if self._opened.done():
            self._opened = asyncio.get_running_loop().create_future()
        return self._opened


def _masking(deployment: GatewayDeployment, session: str) -> Masking:
    version, policy = deployment.policy(session)
    settings = deployment.settings
    key = settings.fingerprint_key.encode()
    return Masking(policy.firewall, key, settings.tenant, settings.encoding, version)
