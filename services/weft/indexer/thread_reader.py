"""Reading the log and its object store from the fold's thread, which is not the event loop's."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from weft.log.bodies import shown_body
from weft.log.connection import Connection
from weft.log.reading import read
from weft_schemas.errors import NotFound, Unavailable
from weft_schemas.items import BodyRef

READ_SECONDS = 10.0
"""How long to wait for one event."""
BODY_SECONDS = 60.0
"""How long to wait for one body, which is read in up to 17 pages of 256 KiB."""

T = TypeVar("T")


class ThreadReader:
    """Reads for one thread, over a connection of an event loop that runs in another."""

    def __init__(self, connection: Connection, loop: asyncio.AbstractEventLoop) -> None:
        self._connection = connection
        self._loop = loop

    def payload(self, sequence: int) -> bytes | None:
        """An event's payload; None if the log no longer has it. Raises `Unavailable`."""
        what = f"the log did not give event {sequence}"
        try:
            return self._done(read(self._connection, sequence), READ_SECONDS, what).payload
        except NotFound:
            return None

    def body(self, tenant: str, reference: BodyRef) -> bytes | None:
        """As `shown_body`."""
        reading = shown_body(self._connection, tenant, reference)
        what = f"the object store did not give body {reference.sha256}"
        return self._done(reading, BODY_SECONDS, what)

    def _done(self, work: Coroutine[Any, Any, T], seconds: float, what: str) -> T:
        reading = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return reading.result(seconds)
        except TimeoutError:
            reading.cancel()
            raise Unavailable(f"{what} in {seconds:.0f} s; try again") from None
