"""Erasing messages: their bytes are overwritten, which a purge would leave in the files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from weft.log.api import call
from weft.log.connection import Connection
from weft_schemas.errors import NotFound

AT_ONCE = 16
"""Concurrent erasures. 64 took as long, since most of the time is the server's."""
ERASE_SECONDS = 30.0
"""For the slowest disks: the server syncs each erasure, one after the other."""


async def erase(connection: Connection, stream: str, sequence: int) -> bool:
    """Delete one message and overwrite its bytes in the stream's file, on every node's store.

    Returns False if it was not there. A cluster's Raft logs keep it until compaction.
    """
    try:
        body = {"seq": sequence, "no_erase": False}
        await call(connection, f"STREAM.MSG.DELETE.{stream}", body, ERASE_SECONDS)
    except NotFound:
        return False
    return True


async def erase_all(
    connection: Connection,
    stream: str,
    sequences: Sequence[int],
    on_progress: Callable[[int], None] = lambda erased: None,
) -> int:
    """`erase` many, `AT_ONCE` at a time; `on_progress` is called with the number done. Returns how
    many existed."""
    there = 0
    for start in range(0, len(sequences), AT_ONCE):
        some = sequences[start : start + AT_ONCE]
        done = await asyncio.gather(*(erase(connection, stream, one) for one in some))
        there += sum(done)
        on_progress(start + len(some))
    return there
