"""Erasing messages: their bytes are overwritten, which a purge would leave in the files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from weft.log.api import call, config_of
from weft.log.connection import Connection
from weft.log.reading import read
from weft_schemas.errors import ConfigurationError, NotFound

AT_ONCE = 16
"""Concurrent erasures. 64 took as long, since most of the time is the server's."""
FORBIDDING = ("deny_delete", "sealed")
"""Settings of a stream with which the server erases nothing. Neither can be undone."""
HOW_TO_ALLOW = (
    "Back the stream up, and restore it with a configuration without that (nats stream backup, "
    "nats stream rm, nats stream restore --config)"
)
ERASE_SECONDS = 30.0
"""For the slowest disks: the server syncs each erasure, one after the other."""


async def check_deletable(connection: Connection, *streams: str) -> None:
    """Raises `ConfigurationError` if nothing can be erased from a stream, before any change."""
    for stream in streams:
        # If it is not there, nothing is in it that would have to be erased.
        config = await config_of(connection, stream) or {}
        found = [one for one in FORBIDDING if config.get(one)]
        if found:
            raise ConfigurationError(
                f"stream {stream} has {found[0]}, so that nothing can be erased from it; nothing "
                f"was changed. {HOW_TO_ALLOW}"
            )


async def erase(connection: Connection, stream: str, sequence: int) -> bool:
    """Delete one message and overwrite its bytes in the stream's file, on every node's store.

    Returns False if it was not there. A cluster's Raft logs keep it until compaction.
    """
    try:
        body = {"seq": sequence, "no_erase": False}
        await call(connection, f"STREAM.MSG.DELETE.{stream}", body, ERASE_SECONDS)
    except ConfigurationError:
        # The server has the same number for what is not there and for what it may not delete.
        with suppress(NotFound):
            await read(connection, sequence, stream)
            raise
        return False
    return True


async def erase_all(
    connection: Connection,
    stream: str,
    sequences: Sequence[int],
    on_progress: Callable[[int], None] = lambda erased: None,
) -> int:
    """`erase` many, `AT_ONCE` at a time; tells `on_progress` how many. Returns how many existed."""
    there = 0
    for start in range(0, len(sequences), AT_ONCE):
        some = sequences[start : start + AT_ONCE]
        done = await asyncio.gather(*(erase(connection, stream, one) for one in some))
        there += sum(done)
        on_progress(start + len(some))
    return there
