"""Requests to the JetStream API; its error replies become weft's errors."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import inf
from typing import Any

import msgspec
import nats.errors
from nats.aio.msg import Msg

from weft.log.connection import Connection
from weft.log.timeouts import done_within
from weft.log.trace_context import current_trace
from weft.log.wire import check_subject
from weft_schemas.errors import (
    ConfigurationError,
    Conflict,
    Forbidden,
    NotFound,
    Overloaded,
    Unavailable,
    WeftError,
)

TIMEOUT_SECONDS = 5.0
_PAUSE_SECONDS = 0.1
"""Between two questions to a cluster without a leader."""

FULL = frozenset({10002, 10023, 10028, 10047, 10077, 10122})
"""No room: limits of the account, the server's memory or disk, or the stream's messages or bytes.
Numbers of nats-server's `errors.json`; they are its public interface, the texts are not."""
FULL_SERVER = frozenset({10023, 10047})
"""Those of them that no higher limit of a stream or an account would help."""
NO_STREAM = 10059
NO_DELETION = 10057
"""The stream forbids it."""
IN_PROCESS = 10158
"""The same message id is being replicated, and may still be lost with its leader."""
NO_LEADER = 10008
"""The cluster is electing its leader. The server answers at once, and has done nothing."""
TOO_FEW_NODES = 10005
"""A stream's replicas need more nodes than the cluster has yet; the others are still starting."""
TOO_MANY_REQUESTS = 10167
"""The server's queue for the stream is full; it dropped this message."""
BATCH_GONE = frozenset({10176, 10208})
"""The server does not have the batch, or not all of it: it dropped a message for lack of space,
gave the batch up after ten silent seconds, or was restarted. Part of it may be stored."""
_TEMPORARY = frozenset({IN_PROCESS, TOO_FEW_NODES, TOO_MANY_REQUESTS}) | BATCH_GONE
WRONG_LAST = frozenset({10070, 10071, 10164})
"""The expected last message id, or sequence, is not the last."""


async def call(
    connection: Connection, verb: str, body: Any = None, timeout: float = TIMEOUT_SECONDS
) -> dict[str, Any]:
    """Ask `$JS.API.<verb>` and return its answer. A cluster that elects its leader is asked again.

    Raises `Unavailable` without an answer, and the errors of `error_of`.
    """
    clock = asyncio.get_running_loop().time
    subject, deadline = f"$JS.API.{verb}", clock() + timeout
    payload = b"" if body is None else msgspec.json.encode(body)
    while True:
        reply = await request(connection, subject, payload, timeout)
        answer: dict[str, Any] = msgspec.json.decode(reply)
        if "error" not in answer:
            return answer
        timeout = deadline - clock() - _PAUSE_SECONDS
        if answer["error"].get("err_code") != NO_LEADER or timeout <= 0:
            raise error_of(answer["error"], verb)
        await asyncio.sleep(_PAUSE_SECONDS)


async def config_of(
    connection: Connection, stream: str, timeout: float = TIMEOUT_SECONDS
) -> dict[str, Any] | None:
    """A stream's configuration, None if there is no such stream. Raises as `call` does."""
    try:
        info = await call(connection, f"STREAM.INFO.{stream}", timeout=timeout)
    except NotFound:
        return None
    return dict(info["config"])


async def request(connection: Connection, subject: str, payload: bytes, timeout: float) -> bytes:
    """One request, one reply. Raises `Forbidden` or `Unavailable`."""
    try:
        return (await replied(connection, subject, payload, timeout)).data
    except nats.errors.NoRespondersError:
        raise Unavailable(f"nothing answers {subject}; is JetStream enabled?") from None
    except (nats.errors.Error, TimeoutError, OSError) as error:
        why = why_away(connection) or str(error) or type(error).__name__
        if subject.startswith("$JS.API.") and connection.is_up and connection.is_of_cluster:
            why += "; most of the cluster's nodes must run, and all of them at its first start"
        raise no_answer(subject, why) from None


async def replied(
    connection: Connection,
    subject: str,
    payload: bytes,
    timeout: float,
    headers: dict[str, str] | None = None,
) -> Msg:
    """The reply to a request, which is part of the program's current trace.

    Raises `Forbidden`, though the server sends no reply then, `InvalidInput` for a subject with
    white space, `Unavailable` if the connection is closed meanwhile, and what nats-py raises.
    """
    check_subject(subject)
    if trace := current_trace():
        headers = {**(headers or {}), "traceparent": trace}
    # Its own timeout would count the time in which this process did not run.
    request = asyncio.create_task(connection.request(subject, payload, inf, headers=headers))
    with _ended_early(connection, subject, request) as ended:
        if not await done_within(request, timeout):
            raise nats.errors.TimeoutError
        if ended:
            raise ended[0]
        return request.result()


@contextmanager
def _ended_early(
    connection: Connection, subject: str, request: asyncio.Task[Msg]
) -> Iterator[list[WeftError]]:
    """Cancels a request to which no answer can come any more. Gives the reason, if there is one."""
    ended: list[WeftError] = []

    def end(error: WeftError) -> None:
        ended.append(error)
        request.cancel()

    def violated(other: str) -> None:
        if other == subject.lower():
            end(forbidden(subject))

    closed = Unavailable(
        f"the connection was closed before an answer came on {subject}; connect again, and repeat "
        "the call"
    )
    with ExitStack() as at_end:
        at_end.callback(request.cancel)
        at_end.callback(connection.on_violation(violated))
        at_end.callback(connection.on_close(lambda: end(closed)))
        yield ended


def forbidden(subject: str) -> WeftError:
    """The error for a message that the server dropped for lack of permission."""
    return Forbidden(f"the credential does not allow {subject}; use one that does")


def why_away(connection: Connection) -> str:
    """Why no answer comes, if the server is not there; otherwise empty."""
    return "" if connection.is_up else "the server is away, and is connected to once it is back"


def no_answer(subject: str, why: str) -> WeftError:
    """The error for a request or publish without an answer: whether it took effect is unknown."""
    return Unavailable(f"no answer on {subject} ({why}); try again")


def error_of(error: dict[str, Any], what: str) -> WeftError:
    """A server's `{code, err_code, description}` as an exception."""
    number = error.get("err_code", 0)
    text = f"{what}: {error.get('description', 'refused')} (error {number})"
    if number == NO_LEADER:
        return Unavailable(f"{text}: the cluster has no leader; most of its nodes must run")
    if number in _TEMPORARY:
        return Unavailable(f"{text}; try again")
    if number in FULL_SERVER:
        return Overloaded(
            f"{text}; the server's storage is used up: make room on its disk, or raise its "
            "`max_file_store` and restart it (unset, that is three quarters of what was free when "
            "it started)"
        )
    if number in FULL or error.get("code") == 429:
        return Overloaded(f"{text}; wait, or raise the stream's limits")
    if number in WRONG_LAST:
        return Conflict(f"{text}; read what came in between and decide again")
    if number == NO_STREAM:
        return NotFound(f"{text}; start `weft up`, or make the log with `weft provision`")
    if number == NO_DELETION:
        return ConfigurationError(f"{text}; take `deny_delete` or `sealed` from the stream")
    if error.get("code") == 404:
        return NotFound(text)
    if error.get("code") in (500, 503):
        return Unavailable(f"{text}; try again")
    return ConfigurationError(text)
