"""One request that every process of a kind answers, and the answers of those that are alive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

import msgspec

from weft.log.connection import Connection, Listener
from weft.log.timeouts import done_within, pause
from weft.log.wire import publish_command, takes_replies, text_of
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.subjects import request_subject

State = TypeVar("State", bound=msgspec.Struct)


async def answer_each(
    connection: Connection, service: str, state: Callable[[str], msgspec.Struct]
) -> Listener:
    """Answer every tenant's requests with the state at that time, until the listener is closed.
    `state` is given the requester's inbox."""

    def reply(_: bytes, to: bytes, payload: bytes, headers: bytes | None) -> None:
        inbox = text_of(to or b"")
        if takes_replies(inbox):
            body = msgspec.json.encode(state(inbox))
            connection.write_soon(publish_command(inbox, "", b"", body))

    return await connection.listen(f"weft-rpc.*.{TENANT_SESSION}.{service}", reply)


async def gather(
    connection: Connection,
    tenant: str,
    service: str,
    kind: type[State],
    first_seconds: float,
    more_seconds: float,
) -> list[State]:
    """Ask once; wait so long for the first answer and for others. At once if nobody listens. The
    credential needs permission for `weft-rpc.<tenant>.@tenant.<service>`."""
    answers: list[bytes] = []
    first = asyncio.get_running_loop().create_future()

    def take(_: bytes, to: bytes, payload: bytes, headers: bytes | None) -> None:
        if payload:
            answers.append(bytes(payload))
        if not first.done():
            # An empty message is the server's status for "no responders".
            first.set_result(bool(payload))

    inbox, subject = connection.new_inbox(), request_subject(tenant, TENANT_SESSION, service)
    listener = await connection.listen(inbox, take)
    try:
        connection.write_soon(publish_command(subject, inbox, b"", b"{}"))
        if await done_within(first, first_seconds) and first.result():
            await pause(more_seconds)
    finally:
        await listener.close()
    return [msgspec.json.decode(one, type=kind) for one in answers]
