"""Backups of a stream, as the server gives and takes them."""

from __future__ import annotations

import asyncio
from typing import Any

from weft.log.api import call
from weft.log.connection import Connection
from weft.log.wire import publish_command
from weft_schemas.subjects import STREAM

Backup = tuple[dict[str, Any], list[bytes]]
"""A stream's configuration and state, and the chunks of its archive."""


async def backup(log: Connection, stream: str = STREAM) -> Backup:
    """A stream as the server gives it to an operator's backup."""
    inbox, chunks = log.new_inbox(), list[bytes]()
    ended = asyncio.Event()

    def take_chunk(_: bytes, to: bytes, payload: bytes, headers: bytes | None) -> None:
        if payload:
            chunks.append(bytes(payload))
            if to:
                log.write_soon(publish_command(to.decode(), "", b"", b""))
        else:
            ended.set()

    listener = await log.listen(inbox, take_chunk)
    answer = await call(log, f"STREAM.SNAPSHOT.{stream}", {"deliver_subject": inbox})
    await ended.wait()
    await listener.close()
    return {"config": answer["config"], "state": answer["state"]}, chunks


async def restore(log: Connection, stored: Backup) -> None:
    """Bring a stream back from a backup, in the place of the one that there is."""
    description, chunks = stored
    stream = description["config"]["name"]
    await call(log, f"STREAM.DELETE.{stream}")
    where = (await call(log, f"STREAM.RESTORE.{stream}", description))["deliver_subject"]
    for chunk in (*chunks, b""):
        await log.request(where, chunk)
