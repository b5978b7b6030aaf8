"""The roll call: one request that every living process of weft answers with its state."""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
from typing import TYPE_CHECKING

from weft.log.connection import Connection, Listener
from weft.log.scatter_gather import answer_each, gather
from weft.log.wire import is_from_tenant
from weft_schemas.status import ProcessState

if TYPE_CHECKING:
    # A client without the dependencies of a process may call the roll.
    from weft.runtime.process import Process

ANSWER_SECONDS = 0.5
"""How long answers are collected after the first; they take milliseconds."""
FIRST_SECONDS = 2.0
_SERVICE = "processes"
_NAMES = secrets.token_hex(16)
"""Random for each process, so that nobody can guess host and process id by trying."""


def state_of(process: Process) -> ProcessState:
    """The state of a process as it reports it itself."""
    complaint = process.complaint()
    return ProcessState(
        service=process.name,
        host=socket.gethostname(),
        pid=os.getpid(),
        ready=complaint is None,
        answers=process.answers,
        lag=process.health.lag,
        port=process.http_port,
        complaint=complaint or "",
        last_error=process.health.last_error,
    )


def for_tenants(state: ProcessState) -> ProcessState:
    """The state that a tenant may see: nothing about the machine and no text that may quote other
    tenants. `host` is a pseudonym of the process."""
    name = hashlib.sha256(f"{_NAMES}{state.host}/{state.pid}".encode()).hexdigest()[:8]
    complaint = "" if state.ready else "who runs it can see why"
    return ProcessState(state.service, name, 0, state.ready, state.answers, complaint=complaint)


async def answer_roll_calls(process: Process) -> Listener:
    """Answer for a process until the listener is closed."""

    def reply(inbox: str) -> ProcessState:
        state = state_of(process)
        return for_tenants(state) if is_from_tenant(inbox) else state

    return await answer_each(process.connection, _SERVICE, reply)


async def call_roll(connection: Connection, tenant: str) -> tuple[ProcessState, ...]:
    """Every process that answers in time, by service, host and pid; at once if there is none."""
    states = await gather(connection, tenant, _SERVICE, ProcessState, FIRST_SECONDS, ANSWER_SECONDS)
    return tuple(sorted(states, key=lambda state: (state.service, state.host, state.pid)))
