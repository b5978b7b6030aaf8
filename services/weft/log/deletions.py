"""Which messages are no longer in the log. There may be millions, and the server names each of
them, so they are never held one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

import msgspec

from weft.log.api import TIMEOUT_SECONDS, call, request
from weft.log.connection import Connection
from weft_schemas.subjects import STREAM

_NUMBER = re.compile(rb"\d+")


class _State(msgspec.Struct):
    first_seq: int
    deleted: msgspec.Raw = msgspec.Raw(b"")


class _Info(msgspec.Struct):
    state: _State


async def aged_before(connection: Connection) -> int:
    """Where the log begins if older events left it by age; 0 if none did."""
    info = await call(connection, f"STREAM.INFO.{STREAM}")
    first = int(info["state"]["first_seq"])
    return first if info["config"].get("max_age") and first > 1 else 0


async def deleted_after(connection: Connection, sequence: int) -> Iterator[int]:
    """The sequences after `sequence` that no longer exist, in order."""
    await call(connection, f"STREAM.INFO.{STREAM}")  # raises what the other request would hide
    body = msgspec.json.encode({"deleted_details": True})
    reply = await request(connection, f"$JS.API.STREAM.INFO.{STREAM}", body, TIMEOUT_SECONDS)
    state = msgspec.json.decode(reply, type=_Info).state
    named = (int(found[0]) for found in _NUMBER.finditer(bytes(state.deleted)))
    later = (number for number in named if number > sequence)
    return chain(range(sequence + 1, state.first_seq), later)
