"""A replica's membership in the queue group for requests: it joins when its read model has caught
up with the log, and leaves while it lags behind and another replica can answer. So an answer is
never older than `POLL_SECONDS`, unless no replica has newer data.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections import deque

from weft.log.reading import last_sequence
from weft.runtime.logs import fields
from weft.runtime.process import Process
from weft.runtime.replica import Replica
from weft.runtime.request_server import RequestServer
from weft.runtime.roll_call import call_roll
from weft_schemas.errors import Unavailable, WeftError

JOINING_SECONDS = 0.1
"""Between two checks while it takes no requests."""
POLL_SECONDS = 1.0
"""The same while it does."""
LEAVING_CHECKS = 5
"""It leaves if it has not folded what the log had this many checks ago."""

_log = logging.getLogger(__name__)


class RequestGroup:
    """Joins and leaves for one process; `keep` until it stops."""

    def __init__(self, process: Process, replica: Replica, request_server: RequestServer) -> None:
        self._process = process
        self._replica = replica
        self._request_server = request_server
        self._lasts: deque[int] = deque(maxlen=LEAVING_CHECKS)
        """The log's last sequence at each earlier check, the newest last."""

    async def keep(self) -> None:
        """Check for ever. After the first check the process counts as started: what is ready takes
        requests, or says why it does not."""
        await self._look()
        self._process.started()
        while True:
            await asyncio.sleep(POLL_SECONDS if self._process.answers else JOINING_SECONDS)
            await self._look()

    async def _look(self) -> None:
        try:
            folded = self._replica.watermark()
        except Unavailable as error:
            await self._leave(str(error))
            return
        try:
            last = await last_sequence(self._process.connection)
        except WeftError as error:
            # The log cannot be asked, so this replica is as good as any other.
            self._process.health.report("replica", str(error))
            return
        self._process.behind(max(0, last - folded))
        if folded >= (self._lasts[-1] if self._lasts else last):
            await self._join()
        elif not self._process.answers:
            behind = f"has folded {folded} of {last} events and takes no requests yet"
            self._process.health.report("replica", behind)
        elif self._is_long_behind(folded) and await self._another_answers():
            await self._leave(f"is behind, at {folded} of {last} events")
        self._lasts.append(last)

    def _is_long_behind(self, folded: int) -> bool:
        return len(self._lasts) == LEAVING_CHECKS and folded < self._lasts[0]

    async def _join(self) -> None:
        self._process.health.report("replica", None)
        if not self._process.answers:
            await self._request_server.join()
            _log.info("it takes requests")

    async def _leave(self, why: str) -> None:
        self._lasts.clear()
        self._process.health.report("replica", why)
        if self._process.answers:
            await self._request_server.leave()
            _log.warning("it takes no more requests", extra=fields(why=why))

    async def _another_answers(self) -> bool:
        me = (socket.gethostname(), os.getpid())
        process = self._process
        return any(
            one.service == process.name and one.answers and one.ready and (one.host, one.pid) != me
            for one in await call_roll(process.connection, process.settings.tenant)
        )
