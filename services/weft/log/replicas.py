"""Which replicas run, and up to which sequence erased content has been removed from their files.
One request goes to all of them, and each indexer answers for its replica. A replica that is not
running cannot answer; it folds the tombstones when it starts."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import msgspec

from weft.log.connection import Connection, Listener
from weft.log.scatter_gather import answer_each, gather
from weft_schemas.ids import digest

ANSWER_SECONDS = 1.0
"""How long answers are collected; a replica answers within milliseconds."""
FIRST_SECONDS = 10.0
"""How long the first answer is awaited if the server says that there are replicas: all of them may
be rewriting their files."""
_SERVICE = "replicas"


class ReplicaState(msgspec.Struct, frozen=True):
    name: str
    """Identifies it, without saying where it runs: any agent of a tenant may ask."""
    sequence: int
    """Sequence up to which it has folded the log."""
    scrubbed: int
    """What was erased up to this sequence is in none of its files any more."""
    others: int = 0
    """Files of older or future generations beside the current one."""
    earlier: str = ""
    """Name of the file of an earlier log's read model, which stays until somebody removes it."""


def replica_name(data_dir: Path) -> str:
    """The same while it runs on this host and data folder; it is also in its log."""
    return f"replica-{digest('replica', socket.gethostname(), str(data_dir.resolve()))[:8]}"


async def answer(connection: Connection, state: Callable[[], ReplicaState]) -> Listener:
    """Answer for a replica until the listener is closed."""
    return await answer_each(connection, _SERVICE, lambda _: state())


async def replicas(connection: Connection, tenant: str) -> list[ReplicaState]:
    """Those that answer in time, by name; returns at once if none runs."""
    states = await gather(connection, tenant, _SERVICE, ReplicaState, FIRST_SECONDS, ANSWER_SECONDS)
    return sorted(states, key=lambda state: state.name)
