"""The log as a host's requests use it: items are published, the rules in force for a session looked
up, and handles made for results."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from weft.gateway.hosts.host import Host
from weft.gateway.log.deployment import GatewayDeployment
from weft.gateway.log.items import call_item, result_item
from weft.gateway.masking import Masking
from weft.gateway.results.handles import Handles
from weft_schemas.errors import WeftError
from weft_schemas.items import ContextItem

_log = logging.getLogger(__name__)


class HostLog:
    """Usable at once; methods that need the log wait until it is open."""

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
        """The weft, once it can be reached. Raises `Unavailable`."""
        return await asyncio.shield(self._opened)

    @property
    def address(self) -> str:
        """The log's address; empty until it is open."""
        is_open = self._opened.done() and not self._opened.exception()
        return self._opened.result().settings.nats_url if is_open else ""

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
        """Opens the deployment, and closes it, in one and the same task."""
        try:
            async with self._deployment as deployment:
                self._opened.set_result(deployment)
                await self._closing.wait()
        except BaseException as error:
            if not self._opened.done():
                if isinstance(error, WeftError):
                    _log.error("the gateway has no log: %s", error)
                self._opened.set_exception(error)
                self._opened.exception()
            elif not isinstance(error, asyncio.CancelledError):
                _log.exception("the log behind the gateway was lost")


def _masking(deployment: GatewayDeployment, session: str) -> Masking:
    version, policy = deployment.policy(session)
    settings = deployment.settings
    key = settings.fingerprint_key.encode()
    return Masking(policy.firewall, key, settings.tenant, settings.encoding, version)
