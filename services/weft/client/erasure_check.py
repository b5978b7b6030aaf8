"""Refuses to publish to an erased session, without a request for each publish: the tenant's
tombstones are read again after `KNOWN_SECONDS`. An erasure waits longer before its last pass."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from math import inf

from weft.erasure.tombstones import KNOWN_SECONDS, tombstones_after
from weft.log.connection import Connection
from weft_schemas.errors import Conflict, Forbidden, WeftError, erased_session

ASKED_SECONDS = 10.0
"""How long a service's answer about a session is used; it costs more than a look at the log."""
_TIMEOUT_SECONDS = 1.0
"""Longest wait for an answer: publishing needs none."""
_KEPT_SESSIONS = 10_000


class ErasureCheck:
    """The erased sessions of one tenant, as one client knows them."""

    def __init__(self, tenant: str, ask: Callable[[str], Awaitable[None]]) -> None:
        """`ask` raises `Conflict` for an erased session: it asks a service, where the credential
        may not read the log."""
        self._tenant = tenant
        self._ask = ask
        self._erased: set[str] = set()
        """Empty for the whole tenant."""
        self._newest = 0
        """Sequence of the newest known tombstone."""
        self._looked = -inf
        self._looking = asyncio.Lock()
        self._may_read = True
        self._asked: OrderedDict[str, float] = OrderedDict()
        """Session → when a service was asked."""

    async def check(self, connection: Connection, session: str) -> None:
        """Raises `Conflict` if the session is known to be erased. Takes one request in
        `KNOWN_SECONDS`, for all sessions; if nobody answers it, what is known counts."""
        if self._may_read:
            await self._look(connection)
        if not self._may_read:
            await self._ask_about(session)
        if session in self._erased or "" in self._erased:
            raise erased_session(self._tenant, session)

    async def _look(self, connection: Connection) -> None:
        clock = asyncio.get_running_loop().time
        if clock() < self._looked + KNOWN_SECONDS:
            return
        async with self._looking:
            now = clock()
            if now < self._looked + KNOWN_SECONDS:
                return
            try:
                async with asyncio.timeout(_TIMEOUT_SECONDS):
                    new, newest = await tombstones_after(connection, self._tenant, self._newest)
            except Forbidden:
                self._may_read = False
            except (WeftError, TimeoutError):
                self._looked = now
            else:
                self._erased.update(new)
                self._looked, self._newest = now, newest

    async def _ask_about(self, session: str) -> None:
        now = asyncio.get_running_loop().time()
        if now < self._asked.get(session, -inf) + ASKED_SECONDS:
            return
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                await self._ask(session)
        except Conflict:
            self._erased.add(session)
        except (WeftError, TimeoutError):
            pass  # nobody answers; or an older service, which does not know the question
        self._asked[session] = now
        self._asked.move_to_end(session)
        while len(self._asked) > _KEPT_SESSIONS:
            self._asked.popitem(last=False)
