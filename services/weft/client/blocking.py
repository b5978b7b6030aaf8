"""The client for programs without an event loop, such as notebooks and synchronous frameworks.

    with weft.connect_sync("nats://127.0.0.1:4222", tenant="acme") as client:
        client.publish("s1", weft.ContextItem("m1", weft.ItemKind.USER_TURN, "Hello"))

The same names with the same arguments. The client itself lives in an event loop of its own, in a
thread of its own, so that a call may block within a running loop, too: a notebook has one.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import os
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from weft.client.client import Client, connect
from weft.client.lazy_connection import closed_error
from weft.client.pack import Pack
from weft.client.parking import Parked
from weft.client.session import Session
from weft.client.tool_functions import Function, called_now
from weft.log.record import LogRecord
from weft.log.timeouts import cancelled
from weft.messages.reading import Format, tool_call
from weft.messages.writing import Provider
from weft_schemas.errors import InvalidInput, Unavailable

P = ParamSpec("P")
T = TypeVar("T")
_CANCEL_SECONDS = 1.0


class LoopThread:
    """An event loop in a thread that ends with its process."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="weft", daemon=True)
        self._process = os.getpid()
        self._changing = threading.RLock()
        self._is_closed = False
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of the work; called from any other thread. Raises `Unavailable` if the loop is
        closed, before or during the work, and `InvalidInput` where it would wait for ever."""
        try:
            self.check()
            with self._changing:
                if self._is_closed:
                    raise closed_error()
                done = asyncio.run_coroutine_threadsafe(work, self._loop)
        except BaseException:
            work.close()
            raise
        try:
            return done.result()
        except concurrent.futures.CancelledError:
            if self._is_closed:
                raise _closed_meanwhile() from None
            raise
        except BaseException:
            done.cancel()  # the wait was interrupted
            raise

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @property
    def is_foreign(self) -> bool:
        """Whether this process was forked from the one that has the thread."""
        return os.getpid() != self._process

    def close(self) -> None:
        """End all work, and then the loop and its thread. A forked process leaves both alone: they
        are its parent's."""
        if self.is_foreign:
            return
        self._check_place()
        with self._changing:
            if self._is_closed:
                return
            self._is_closed = True
        asyncio.run_coroutine_threadsafe(_all_ended(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def end(self, left: AsyncGenerator[Any, None]) -> None:
        """Close a generator that ran in this loop, without waiting for it."""
        if self.is_foreign:
            return
        with self._changing:
            if not self._is_closed:
                asyncio.run_coroutine_threadsafe(left.aclose(), self._loop)

    def check(self) -> None:
        """Raises what `run` would raise now."""
        self._check_place()
        if self._is_closed:
            raise closed_error()

    def _check_place(self) -> None:
        if self.is_foreign:
            raise InvalidInput(
                "this client belongs to the process that this one was forked from; connect again "
                "in this process"
            )
        if threading.current_thread() is self._thread:
            raise InvalidInput(
                "a client of weft.connect_sync was called by something that it runs itself (an "
                "iterator of items, an asynchronous function), and would wait for ever; call it "
                "before or after"
            )


async def _all_ended() -> None:
    """Cancels all other tasks of this loop, so that those who wait for them learn of the end."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await cancelled(*others, again=_CANCEL_SECONDS)
    await asyncio.get_running_loop().shutdown_asyncgens()


def _closed_meanwhile() -> Unavailable:
    return Unavailable(
        "this client was closed, by another thread, before the call had ended; connect again, and "
        "repeat it: what is published again is stored once"
    )


def _of_client(
    method: Callable[Concatenate[Client, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[SyncClient, P], T]:
    """The same method, but it returns when it is done."""

    def blocking(self: SyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        # A client in memory has methods of its own.
        own: Callable[P, Coroutine[Any, Any, T]] = getattr(self._client, method.__name__)
        return self._loop.run(own(*args, **kwargs))

    functools.update_wrapper(blocking, method)
    return blocking


def _of_session(
    method: Callable[Concatenate[Session, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[SyncSession, P], T]:
    def blocking(self: SyncSession, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._loop.run(method(self._session, *args, **kwargs))

    functools.update_wrapper(blocking, method)
    return blocking


def _opened(
    method: Callable[Concatenate[Client, P], Session],
) -> Callable[Concatenate[SyncClient, P], SyncSession]:
    """The session that it opens, in the client's loop."""

    def opened(self: SyncClient, /, *args: P.args, **kwargs: P.kwargs) -> SyncSession:
        return SyncSession(self._loop, method(self._client, *args, **kwargs))

    functools.update_wrapper(opened, method)
    return opened


class SyncClient:
    """A `Client` whose methods return when they are done. Any number of threads may use it at
    once."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._made: LoopThread | None = None
        self._making = threading.Lock()
        self._closing = threading.Lock()
        self.settings, self.tenant = client.settings, client.tenant
        self.histories = client.histories

    @property
    def _loop(self) -> LoopThread:
        """The client's own, made by the first call: an unused client has no thread."""
        if self._made is None:
            with self._making:
                self._made = self._made or LoopThread()
        return self._made

    def __enter__(self) -> Self:
        try:
            self._loop.run(self._client.__aenter__())
        except BaseException:
            self._loop.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Does what leaving the `with` does, for a client that is used without one. Calls of other
        threads that have not ended raise `Unavailable`. Closing it again does nothing, and so does
        closing it in a forked process: it is its parent's."""
        if self._loop.is_foreign:
            return
        with self._closing:
            if self._loop.is_closed:
                return
            try:
                self._loop.run(self._client.__aexit__(None, None, None))
            finally:
                self._loop.close()

    publish = _of_client(Client.publish)
    publish_messages = _of_client(Client.publish_messages)
    close_session = _of_client(Client.close_session)
    publish_policy = _of_client(Client.publish_policy)
    policy = _of_client(Client.policy)
    publish_grants = _of_client(Client.publish_grants)
    grants = _of_client(Client.grants)
    publish_catalog = _of_client(Client.publish_catalog)
    catalog = _of_client(Client.catalog)
    confirm = _of_client(Client.confirm)
    check_not_erased = _of_client(Client.check_not_erased)
    compile = _of_client(Client.compile)
    reproduce = _of_client(Client.reproduce)
    explain = _of_client(Client.explain)
    status = _of_client(Client.status)
    facts = _of_client(Client.facts)
    sessions = _of_client(Client.sessions)
    processes = _of_client(Client.processes)
    route = _of_client(Client.route)
    tools = _of_client(Client.tools)
    choose = _of_client(Client.choose)
    hydrate = _of_client(Client.hydrate)
    drilldown = _of_client(Client.drilldown)
    session = _opened(Client.session)

    def events(self, session: str, *, first: int = 1, follow: bool = False) -> Iterator[LogRecord]:
        """The session's events, as `Client.events` returns them; with `follow`, without end."""
        records = self._client.events(session, first=first, follow=follow)

        async def following() -> LogRecord | None:
            return await anext(records, None)

        try:
            while (record := self._loop.run(following())) is not None:
                yield record
        finally:  # also if it is left early
            self._loop.end(records)


class SyncSession:
    """A `Session` whose methods return when they are done."""

    def __init__(self, loop: LoopThread, session: Session) -> None:
        self._loop = loop
        self._session = session
        self.name = session.name

    def __enter__(self) -> Self:
        self._loop.run(self._session.__aenter__())
        return self

    def __exit__(self, *error: Any) -> None:
        self._loop.run(self._session.__aexit__(*error))

    @property
    def pack(self) -> Pack | None:
        """The latest compile."""
        return self._session.pack

    @property
    def after(self) -> int:
        """The place in the log up to which this session has published."""
        return self._session.after

    @property
    def unsent(self) -> int:
        """See `Session.unsent`."""
        return self._session.unsent

    @property
    def parked(self) -> tuple[Parked, ...]:
        """See `Session.parked`."""
        return self._session.parked

    def add(self, *messages: Any, format: Format = "auto", scope: str | None = None) -> None:
        """See `Session.add`."""
        self._session.add(*messages, format=format, scope=scope)

    def tools(self, provider: Provider) -> list[dict[str, Any]]:
        """See `Session.tools`."""
        return self._session.tools(provider)

    def run(self, call: Any, functions: Mapping[str, Function] | None = None) -> bool:
        """See `Session.run`. A function runs in the thread that calls this, so it may use this
        client, too; what an asynchronous one returns is awaited in the client's own. None is called
        if this client cannot be used here."""
        self._loop.check()
        made = tool_call(call)
        if not self._session._is_own(made):
            functions = called_now(made, functions)
        return self._loop.run(self._session.run(call, functions))

    publish = _of_session(Session.publish)
    flush = _of_session(Session.flush)
    send_parked = _of_session(Session.send_parked)
    compile = _of_session(Session.compile)
    request = _of_session(Session.request)


def _synchronous(make: Callable[P, Client]) -> Callable[P, SyncClient]:
    """The same arguments for a client without an event loop."""

    def made(*args: P.args, **kwargs: P.kwargs) -> SyncClient:
        return SyncClient(make(*args, **kwargs))

    functools.update_wrapper(made, make)
    made.__name__ = made.__qualname__ = "connect_sync"
    made.__doc__ = (
        '`with weft.connect_sync("nats://…", tenant="acme") as client:`, as `weft.connect`.'
    )
    return made


connect_sync = _synchronous(connect)
