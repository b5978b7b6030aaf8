"""Reading the log and its object store from a thread that is not the event loop's: the fold's."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from weft.bodies.masking import MAX_CLEAN_BYTES
from weft.log.api import config_of
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import read
from weft.log.topology import BODIES_STREAM
from weft_schemas.errors import Corrupt, InvalidInput, NotFound, Unavailable
from weft_schemas.items import BodyRef

READ_SECONDS = 10.0
"""How long to wait for one event."""
BODY_SECONDS = 60.0
"""How long to wait for one body, which is read in up to 17 pages of 256 KiB."""

T = TypeVar("T")


async def shown_body(connection: Connection, tenant: str, reference: BodyRef) -> bytes | None:
    """A body in the object store, of which an envelope records a clean text. None if it is gone,
    has other bytes, or is larger than any such body.

    Raises `Unavailable` if the object store does not answer, or is not there at all: whoever
    restores a log may restore it next.
    """
    bodies = Bodies(connection, Publisher(connection), tenant)  # nothing is published
    try:
        body = await bodies.get(reference, MAX_CLEAN_BYTES + 1)
    except NotFound:
        if await config_of(connection, BODIES_STREAM) is None:
            raise Unavailable(
                f"the log has no object store for body {reference.sha256}: restore "
                f"{BODIES_STREAM}, or make an empty one with `weft provision`"
            ) from None
        return None
    except (Corrupt, InvalidInput):
        return None
    except Unavailable as error:
        raise Unavailable(
            f"body {reference.sha256} could not be read from the object store: {error}"
        ) from None
    return body if len(body) <= MAX_CLEAN_BYTES else None


class ThreadReader:
    """Reads for one thread, over a connection of an event loop that runs in another."""

    def __init__(self, connection: Connection, loop: asyncio.AbstractEventLoop) -> None:
        self._connection = connection
        self._loop = loop

    def payload(self, sequence: int) -> bytes | None:
        """An event's payload; None if the log no longer has it. Raises `Unavailable`."""
        reading = self._begun(read(self._connection, sequence))
        try:
            return _done(reading, READ_SECONDS, f"the log did not give event {sequence}").payload
        except NotFound:
            return None

    def body(self, tenant: str, reference: BodyRef) -> bytes | None:
        """As `shown_body`."""
        reading = self._begun(shown_body(self._connection, tenant, reference))
        what = f"the object store did not give body {reference.sha256}"
        return _done(reading, BODY_SECONDS, what)

    def _begun(self, reading: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(reading, self._loop)


def _done(reading: Future[T], seconds: float, what: str) -> T:
    try:
        return reading.result(seconds)
    except TimeoutError:
        reading.cancel()
        raise Unavailable(f"{what} in {seconds:.0f} s; try again") from None
