"""The roll call: every process of weft says how it is, to whoever asks all of them at once.

One that is dead or held up does not answer; that is how it is told.
"""

from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING

import msgspec

from weft.log.connection import Connection, Listener
from weft.log.timeouts import done_within, pause
from weft.log.wire import publish_command
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.status import ProcessState
from weft_schemas.subjects import request_subject

if TYPE_CHECKING:
    # Who asks may be a client without what a process needs.
    from weft.runtime.process import Process

ANSWER_SECONDS = 0.5
"""How long answers are collected after the first; a process answers in milliseconds."""
FIRST_SECONDS = 2.0
_SERVICE = "processes"
SUBJECT = f"weft-rpc.*.{TENANT_SESSION}.{_SERVICE}"


def state_of(process: Process) -> ProcessState:
    """How a process is by its own account."""
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


async def answer_roll_calls(process: Process) -> Listener:
    """Answer for a process until the listener is closed."""

    def reply(subject: bytes, to: bytes, payload: bytes, headers: bytes | None) -> None:
        if to:
            body = msgspec.json.encode(state_of(process))
            process.connection.write_soon(publish_command(to.decode(), "", b"", body))

    return await process.connection.listen(SUBJECT, reply)


async def call_roll(connection: Connection, tenant: str) -> tuple[ProcessState, ...]:
    """Every process that answers in time, by service, host and process number; none at once where
    none is there. A credential needs leave to ask `weft-rpc.<tenant>.@tenant.processes`."""
    found: dict[tuple[str, str, int], ProcessState] = {}
    first = asyncio.get_running_loop().create_future()

    def take(subject: bytes, to: bytes, payload: bytes, headers: bytes | None) -> None:
        if payload:
            state = msgspec.json.decode(payload, type=ProcessState)
            found[state.service, state.host, state.pid] = state
        if not first.done():
            # Without a payload it is the server's word that nobody listens.
            first.set_result(bool(payload))

    inbox = connection.new_inbox()
    listener = await connection.listen(inbox, take)
    try:
        subject = request_subject(tenant, TENANT_SESSION, _SERVICE)
        connection.write_soon(publish_command(subject, inbox, b"", b"{}"))
        if await done_within(first, FIRST_SECONDS) and first.result():
            await pause(ANSWER_SECONDS)
    finally:
        await listener.close()
    return tuple(found[key] for key in sorted(found))
