"""The life of one upstream server: started when it is first needed, ended, and restarted after a
failure, with growing pauses. Its failures affect only its own tools."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import mcp_types as types
from mcp import Client, MCPError
from mcp.client._transport import TransportStreams
from mcp.client.session import ClientRequestContext

from weft.gateway.configuration.config import ServerSpec
from weft.gateway.oauth.authorization import authorization
from weft.gateway.tasks.protocol import TaskExtension
from weft.gateway.transports.http import http_server
from weft.gateway.transports.stdio import StdioServer
from weft.gateway.transports.watched_transport import (
    WatchedTransport,
    is_http_status,
    is_unknown_session,
    server_error,
)
from weft.gateway.upstream.faults import call_fault, last_words, start_fault
from weft.gateway.upstream.idleness import Idleness
from weft.gateway.upstream.manifest import Manifest, learned
from weft.gateway.upstream.protocol_version import is_modern
from weft.gateway.upstream.subscriptions import Subscriptions
from weft.secrets.scanning import without_secrets
from weft_schemas.errors import Unavailable

T = TypeVar("T")
State = Literal["configured", "known", "started", "called"]
FIRST_BACKOFF = 1.0
"""Before the third start in a row (the second is at once); doubled each time after."""
PING_SECONDS = 5.0
"""For a server that did not answer a call to prove that it is alive."""

_log = logging.getLogger(__name__)


class AnswersRequests(Protocol):
    """Answers an upstream's requests to its client."""

    async def __call__(
        self, upstream: Upstream, request: types.InputRequest
    ) -> types.InputResponse | types.ErrorData: ...


class Upstream:
    """Safe for use by several tasks at once."""

    def __init__(
        self,
        spec: ServerSpec,
        manifest: Manifest | None,
        sign_in: Path,
        *,
        asked: AnswersRequests,
        changed: Callable[[Upstream], Awaitable[None]],
        notified: Callable[[Upstream, types.ServerNotification], Awaitable[None]],
        refused: Callable[[Upstream, types.JSONRPCRequest], None],
    ) -> None:
        """`sign_in` is the file with the sign-in to this server. `changed` is called when the
        manifest is new, `notified` with every notification, `refused` with a request that the
        server may not make."""
        self._refused = refused
        self._sign_in = sign_in
        self.spec = spec
        self.manifest = manifest
        self.calls = 0
        self.failures = 0
        """How often the server ended, or could not be reached."""
        self.errors = 0
        """Calls that the server answered with an error."""
        self.last_error = ""
        self._asked = asked
        self._changed = changed
        self._notified = notified
        self._client: Client | None = None
        self._owner: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Client] | None = None
        self._proving: asyncio.Task[None] | None = None
        self._in_a_row = 0
        """Failures since it last worked."""
        self._closing = asyncio.Event()
        self._relearn = asyncio.Event()
        self._changes = 0
        """How often the server has announced that one of its lists changed."""
        self._learned_changes = 0
        """How many of these announcements came before its lists were last requested."""
        self._relearned = asyncio.Event()
        """Set, and replaced, each time its lists have been requested."""
        self._stdio: StdioServer | None = None
        self._transport: WatchedTransport | None = None
        self._next_start = 0.0
        self._subscriptions = Subscriptions()
        self.idleness = Idleness(spec.limits.idle_seconds)

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def state(self) -> State:
        if self._client is not None:
            return "called" if self.calls else "started"
        return "known" if self.manifest else "configured"

    @property
    def pid(self) -> int | None:
        return self._stdio.pid if self._stdio and self._client else None

    async def client(self) -> Client:
        """The connected client; starts the server if it is not running. Raises `Unavailable` with
        the reason."""
        if self._proving is not None:
            await asyncio.shield(self._proving)
        if self._closing.is_set() and self._owner is not None:
            await asyncio.gather(self._owner, return_exceptions=True)
        if self._client is not None:
            return self._client
        if self._ready is None:
            wait = self._next_start - asyncio.get_running_loop().time()
            if wait > 0:
                raise Unavailable(
                    f"server {self.name!r} failed {self._in_a_row} times ({self.last_error}); it "
                    f"is started again in {wait:.0f} s at the earliest"
                )
            self._closing = asyncio.Event()
            self._ready = asyncio.get_running_loop().create_future()
            self._owner = asyncio.create_task(self._live(self._ready))
        return await asyncio.shield(self._ready)

    def try_again(self) -> None:
        """Start it without a pause when it is next needed: the cause may have been fixed."""
        self._next_start = 0.0

    async def use(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """Run `work` with the client. Raises `Unavailable` if the server ends or does not answer in
        time, and `MCPError` with its refusal."""
        with self.idleness.at_work():
            return await self._used(work)

    async def _used(self, work: Callable[[Client], Awaitable[T]]) -> T:
        client = await self.client()
        self.calls += 1
        try:
            return await work(client)
        except MCPError as error:
            if is_unknown_session(error):
                await self._ended()
                return await work(await self.client())
            fault = self._transport.fault if self._transport is not None else ""
            if fault and is_http_status(error):
                self.last_error = fault
                raise Unavailable(f"server {self.name!r} did not take the call: {fault}") from None
            given = server_error(error)
            if given is not None:
                raise given from None
            if error.code == types.REQUEST_TIMEOUT:
                if self._proving is None:
                    self._proving = asyncio.create_task(self._prove_alive(client))
                raise Unavailable(
                    f"server {self.name!r} gave no answer in {self.spec.limits.call_seconds:g} s; "
                    "whether it did what was asked is unknown"
                ) from None
            await self._ended()
            raise Unavailable(call_fault(self.name, self._stdio, self._transport)) from None

    async def _ended(self) -> None:
        """Wait until a connection that has broken is closed."""
        is_broken = self._transport is not None and self._transport.ended.is_set()
        if self._owner is not None and is_broken:
            await asyncio.wait([self._owner], timeout=PING_SECONDS)

    async def close(self) -> None:
        """End the server, and wait for its end. One that has not introduced itself yet is not
        waited for."""
        self._closing.set()
        if self._owner is not None:
            if self._client is None and self._ready is not None:
                self._owner.cancel()
            await asyncio.gather(self._owner, return_exceptions=True)

    async def subscribe(self, uri: str, wanted: bool = True) -> None:
        """Subscribe to a resource's changes, or unsubscribe. Raises as `use` does."""
        await self.use(lambda client: self._subscriptions.subscribe(client, uri, wanted))

    async def wait_for_lists(self) -> None:
        """Wait until every list that it has said is changed is asked for again; at once if it does
        not run."""
        wanted = self._changes
        while self._client is not None and self._learned_changes < wanted:
            await self._relearned.wait()

    async def set_log_level(self, level: str) -> None:
        """Set its level of log messages: now if it runs, and at each later start."""
        await self._subscriptions.log_at(self._client, level)

    async def _live(self, ready: asyncio.Future[Client]) -> None:
        limits = self.spec.limits
        try:
            async with AsyncExitStack() as stack:
                try:
                    async with asyncio.timeout(limits.start_seconds):
                        client = await stack.enter_async_context(self._made())
                        manifest = await learned(client, self.spec)
                        await self._subscriptions.begin(client)
                except TimeoutError:
                    raise Unavailable(
                        f"it did not introduce itself in {limits.start_seconds:g} s"
                        f"{last_words(self._stdio)}"
                    ) from None
                self._client = client
                await self._learn(manifest)
                if not ready.done():
                    ready.set_result(client)
                await self._watch(client)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._failed(ready, error)
        finally:
            self._client = None
            self._ready = None
            self._tell_learned(self._changes)
            if not ready.done():
                ready.set_exception(Unavailable(f"server {self.name!r} was ended"))
                ready.exception()

    def _made(self) -> Client:
        is_stdio = self.spec.transport == "stdio"
        self._stdio = StdioServer(self.spec, self._seen) if is_stdio else None
        self._transport = WatchedTransport(self._stdio or self._at_address())

        return Client(
            self._transport,
            read_timeout_seconds=self.spec.limits.call_seconds,
            sampling_callback=self._sample if self.spec.sampling else None,
            elicitation_callback=self._elicit,
            list_roots_callback=self._roots,
            message_handler=self._heard,
            log_level="info",
            client_info=types.Implementation(name="weft-gateway", version="1"),
            extensions=[TaskExtension()],
            cache=None,
        )

    async def _sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> Any:
        return await self._asked(self, types.CreateMessageRequest(params=params))

    async def _elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> Any:
        return await self._asked(self, types.ElicitRequest(params=params))

    async def _roots(self, context: ClientRequestContext) -> Any:
        return await self._asked(self, types.ListRootsRequest())

    async def _heard(self, message: Any) -> None:
        """A notification, or an error of the connection."""
        if isinstance(message, Exception):
            self.last_error = str(message)
            return
        if isinstance(message, _LIST_CHANGED):
            self._changes += 1
            self._relearn.set()
        else:
            await self._notified(self, message)

    def _at_address(self) -> AbstractAsyncContextManager[TransportStreams]:
        return http_server(self.spec, authorization(self.spec, self._sign_in))

    def _seen(self, request: types.JSONRPCRequest) -> None:
        """A question that the client refuses, since the configuration does not allow it."""
        if request.method == "sampling/createMessage" and not self.spec.sampling:
            self._refused(self, request)

    async def _watch(self, client: Client) -> None:
        """Runs until the connection is closed or ends; requests the lists again that the server
        reports as changed."""
        assert self._transport is not None
        events = [self._closing, self._relearn, self._transport.ended]
        if self._stdio is not None:
            events.append(self._stdio.ended)
        async with self._subscriptions.listening(client):
            self._in_a_row = 0
            self.idleness.begin()
            while True:
                waits = [asyncio.create_task(event.wait()) for event in events]
                try:
                    await asyncio.wait(
                        waits, timeout=self._left(), return_when=asyncio.FIRST_COMPLETED
                    )
                finally:
                    for wait in waits:
                        wait.cancel()
                if self._closing.is_set():
                    return
                if self._left() == 0.0:
                    self._client = None  # at once: later calls wait for the next start
                    self._closing.set()
                    return
                if any(event.is_set() for event in events[2:]):
                    fault = self._stdio.fault if self._stdio else ""
                    raise Unavailable(fault or f"it ended{last_words(self._stdio)}")
                self._relearn.clear()
                changes = self._changes
                with contextlib.suppress(MCPError, Unavailable):
                    await self._learn(await learned(client, self.spec))
                self._tell_learned(changes)

    def _left(self) -> float | None:
        """Seconds until it is ended as idle; None if it never is. It is not idle while hosts are
        subscribed to its resources."""
        left = self.idleness.left()
        if left is not None and self._subscriptions.resources:
            return self.spec.limits.idle_seconds
        return left

    def _tell_learned(self, changes: int) -> None:
        self._learned_changes = changes
        self._relearned.set()
        self._relearned = asyncio.Event()

    async def _learn(self, manifest: Manifest) -> None:
        if manifest != self.manifest:
            self.manifest = manifest
            await self._changed(self)

    def _failed(self, ready: asyncio.Future[Client], error: BaseException) -> None:
        self.failures += 1
        self._in_a_row += 1
        self.last_error = without_secrets(
            start_fault(self.spec, self._stdio, self._transport, error), b""
        )
        pause = min(
            FIRST_BACKOFF * (2 ** (self._in_a_row - 1) - 1), self.spec.limits.backoff_seconds
        )
        self._next_start = asyncio.get_running_loop().time() + pause
        _log.warning("server %s: %s", self.name, self.last_error)
        if not ready.done():
            ready.set_exception(
                Unavailable(f"server {self.name!r} cannot be used: {self.last_error}")
            )
            ready.exception()

    async def _prove_alive(self, client: Client) -> None:
        """A server that does not answer even a ping is ended, and restarted when it is needed."""
        try:
            async with asyncio.timeout(PING_SECONDS):
                if is_modern(client):  # it has no ping
                    await client.list_tools(cache_mode="refresh")
                else:
                    await client.session.send_ping()
        except (TimeoutError, MCPError):
            if self._client is client:
                _log.warning("server %s does not answer; it is ended", self.name)
                self.last_error = "it did not answer"
                self.failures += 1
                self._closing.set()
        finally:
            self._proving = None


_LIST_CHANGED = (
    types.ToolListChangedNotification,
    types.PromptListChangedNotification,
    types.ResourceListChangedNotification,
)
