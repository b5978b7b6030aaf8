"""A process that starts while the stream has no leader waits for one: exiting and being restarted,
with longer pauses each time, would take longer than the election."""

from __future__ import annotations

import asyncio

from weft.log.api import call
from weft.log.connection import Connection
from weft_schemas.errors import Unavailable, WeftError
from weft_schemas.subjects import STREAM

ELECTION_SECONDS = 30.0
"""After this the service starts anyway and reports what is wrong; an election takes 4 to 10."""
_ASK_SECONDS = 2.0
_PAUSE_SECONDS = 0.2


async def until_log_answers(connection: Connection, stopping: asyncio.Event) -> None:
    """Return when somebody answers for the log, whatever the answer is, at the latest after
    `ELECTION_SECONDS` or when told to stop."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + ELECTION_SECONDS
    while not stopping.is_set() and clock() < deadline:
        try:
            await call(connection, f"STREAM.INFO.{STREAM}", timeout=_ASK_SECONDS)
        except Unavailable:
            await asyncio.sleep(_PAUSE_SECONDS)
        except WeftError:
            return
        else:
            return
