"""Which replicas run, and up to which sequence erased content is gone from their files.

One request goes to all of them, and each indexer answers for its replica. A replica that is not
running cannot answer; it folds the tombstones when it starts.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import msgspec

from weft.log.connection import Connection, Listener
from weft.log.scatter_gather import answer_each, gather
from weft_schemas.ids import TENANT_SESSION, digest
from weft_schemas.subjects import request_subject

ANSWER_SECONDS = 1.0
"""How long answers are collected; a replica answers in milliseconds."""
FIRST_SECONDS = 10.0
"""How long the first one is waited for, where the server says that somebody is asked: none of them
may be quick while it writes its file anew."""
SUBJECT = f"weft-rpc.*.{TENANT_SESSION}.replicas"


class ReplicaState(msgspec.Struct, frozen=True):
    name: str
    """Tells it from others and says nothing of where it runs: any agent of a tenant may ask."""
    sequence: int
    """Folded up to here."""
    scrubbed: int
    """What was erased at or before this sequence is in none of its files any more."""
    others: int = 0
    """Files of older or coming generations beside the current one."""


def replica_name(data_dir: Path) -> str:
    """The same as long as it runs on this host and data folder; its own log names it."""
    return f"replica-{digest('replica', socket.gethostname(), str(data_dir.resolve()))[:8]}"


async def answer(connection: Connection, state: Callable[[], ReplicaState]) -> Listener:
    """Answer for a replica until the listener is closed."""
    return await answer_each(connection, SUBJECT, lambda _: state())


async def replicas(connection: Connection, tenant: str) -> list[ReplicaState]:
    """Those that answer in time, by name; none at once where none runs."""
    subject = request_subject(tenant, TENANT_SESSION, "replicas")
    answers = await gather(connection, subject, FIRST_SECONDS, ANSWER_SECONDS)
    states = [msgspec.json.decode(one, type=ReplicaState) for one in answers]
    return sorted(states, key=lambda state: state.name)
