"""A client's connection and its publisher, made by the first call that finds a server."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack

from weft.client.outgoing import Outgoing
from weft.client.sending import Sending
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.transport import connect
from weft.runtime.settings import Settings
from weft_schemas.errors import InvalidInput, Unavailable, WeftError
from weft_schemas.ids import derived_key

AGAIN_SECONDS = 1.0
"""Time between two attempts to connect by a client that has no connection yet."""


def closed_error() -> Unavailable:
    """The error of every call of a client that was closed."""
    return Unavailable("this client is closed; connect again")


class LazyConnection:
    """Any number of tasks may use it at once. The publisher exists once `opened` has returned."""

    publisher: Publisher
    sending: Sending
    outgoing: Outgoing

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opening = asyncio.Lock()
        self._refused: tuple[float, WeftError] | None = None
        """When no server answered last, and why."""
        self._connection: Connection | None = None
        self._open = AsyncExitStack()
        self._is_closed = False
        self._home: tuple[int, asyncio.AbstractEventLoop] | None = None
        """The process and the event loop in which it was opened."""

    @property
    def connection(self) -> Connection:
        """Raises `Unavailable` if there is none (yet), or none any more."""
        if self._is_closed:
            raise closed_error()
        if self._connection is None:
            raise Unavailable(
                "this client is not connected; use it within `async with`, and look whether the "
                f"server at {self._settings.shown()['WEFT_NATS_URL']} is there"
            )
        return self._connection

    @property
    def is_up(self) -> bool:
        """Whether a server is connected now."""
        return self._connection is not None and self._connection.is_up

    @property
    def is_cut_off(self) -> bool:
        """Whether there was a server that is gone now."""
        return self._connection is not None and not self._connection.is_up

    async def opened(self) -> Connection:
        """The connection, made now if there is none. Raises what making it raised, without a new
        attempt within `AGAIN_SECONDS`; once it is closed, `Unavailable`; and `InvalidInput` in
        another event loop than its own."""
        self.check_home()
        async with self._opening:
            if self._connection is None and not self._is_closed:
                now = asyncio.get_running_loop().time()
                if self._refused is not None and now < self._refused[0] + AGAIN_SECONDS:
                    raise self._refused[1]
                try:
                    await self._connect()
                except WeftError as error:
                    self._refused = (asyncio.get_running_loop().time(), error)
                    raise
            return self.connection

    def check_home(self) -> None:
        """Raises `InvalidInput` in another event loop or process than its own, which is the one
        that uses it first."""
        here = os.getpid(), asyncio.get_running_loop()
        if self._home is None or (self._connection is None and self._home[1].is_closed()):
            self._home = here
        if self._home != here:
            raise InvalidInput(
                "this client was opened in another event loop or process, and answers come there; "
                "connect in each (asyncio.run makes a new loop each time), or use weft.connect_sync"
            )

    async def close(self) -> None:
        """Close it, if there is one, for good. One that is being made is closed once it is made,
        by the call that makes it."""
        self._is_closed = True
        await self._open.aclose()

    async def _connect(self) -> None:
        settings = self._settings
        async with AsyncExitStack() as opening:
            connection = await connect(name="weft-client", **settings.connection())
            opening.push_async_callback(connection.close)
            self.publisher = await opening.enter_async_context(Publisher(connection))
            self.sending = await opening.enter_async_context(Sending(connection, self.publisher))
            key = derived_key(settings.credential(), "message ids")
            self.outgoing = Outgoing(
                connection, self.publisher, settings.tenant, key, settings.principal
            )
            if self._is_closed:  # meanwhile; leaving this block closes what was opened
                raise closed_error()
            self._open = opening.pop_all()
            self._connection = connection
