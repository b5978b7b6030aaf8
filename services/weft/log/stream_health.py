"""Whether a stream stores anything at the moment.

nats-server (2.15.1) does not answer a publish at all if it cannot write it, as on a full disk,
while its API still answers. So silence alone does not distinguish this from a server that is away.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.log.api import call, config_of
from weft.log.connection import Connection
from weft.log.timeouts import pause
from weft_schemas.errors import Unavailable, WeftError
from weft_schemas.subjects import AUDIT_STREAM, STREAM

STILL_SECONDS = 1.5
"""A stream that stores nothing for this long counts as stalled: an answer takes milliseconds."""
_ASK_SECONDS = 2.0
_STREAMS = {"weft": STREAM, "weft-audit": AUDIT_STREAM}
"""First token of a published subject → where it is stored."""


async def stores_nothing(connection: Connection, stream: str, publish: Callable[[], None]) -> bool:
    """Whether the stream exists and does not store what `publish` sends to it. False if that cannot
    be found out: nobody answers, or the credential may not ask."""
    before = await _last_stored(connection, stream)
    if before is None:
        return False
    publish()
    await pause(STILL_SECONDS)
    return await _last_stored(connection, stream) == before


def stream_of(subject: str) -> str:
    """Where a published subject is stored, empty for any other."""
    return _STREAMS.get(subject.partition(".")[0], "")


def stalled_error(subject: str) -> Unavailable:
    """Why a publish is given up: whether it is stored is unknown."""
    return Unavailable(
        f"no answer on {subject}: the server is there and stores nothing. In a cluster, most nodes "
        "must run. Where its log says `no space left on device`, make room and restart it (`weft "
        "up` restarts its own). Then try again"
    )


async def is_missing(connection: Connection, stream: str) -> bool:
    """Whether the server says that it has no such stream. False if that cannot be found out."""
    try:
        return bool(stream) and await config_of(connection, stream, _ASK_SECONDS) is None
    except WeftError:
        return False


def no_stream(stream: str) -> Unavailable:
    """Why a publish that no stream took is given up. It can be tried again once there is a log."""
    return Unavailable(
        f"this server has no stream {stream}, so nothing is stored: make it with `weft provision`, "
        "or start `weft up`; then try again"
    )


async def _last_stored(connection: Connection, stream: str) -> int | None:
    try:
        info = await call(connection, f"STREAM.INFO.{stream}", timeout=_ASK_SECONDS)
    except WeftError:
        return None
    return int(info["state"]["last_seq"])
