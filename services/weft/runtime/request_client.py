"""One request to a service and its reply; every failure is one of weft's errors.

A request is sent again while its time lasts if its answer may be lost: with a server that was
restarted, or a process that was killed. It is the same request then, byte for byte, so that a
compile of the same state is recorded once; headers say how much of its time is left. A request
that decides a route is sent again only if no service has received it, since the route would be
decided and recorded twice; if the answer is lost, `Unavailable` is raised.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from math import isfinite
from typing import Any, TypeVar

import msgspec
import nats.errors
from nats.aio.msg import Msg

from weft.log.api import replied, why_away
from weft.log.connection import Connection
from weft_schemas.compile import CompileRequest, ErrorReply
from weft_schemas.errors import ERROR_HEADER, InvalidInput, Overloaded, Unavailable
from weft_schemas.policy import Phase
from weft_schemas.ranges import WAIT_SECONDS
from weft_schemas.reply_errors import error_of_reply
from weft_schemas.routing import RouteRequest
from weft_schemas.subjects import REPLY_TIMEOUT_HEADER, TIME_LEFT_HEADER, request_subject
from weft_schemas.unwritable import why_unwritable

ANSWER_SECONDS = 5.0
"""How long a service may take, in addition to the time that the request allows it to wait."""
ABSENT_SECONDS = 5.0
"""For how long a request is retried while no service answers: after a server's restart a service
reconnects within a second, and the client may be back before it."""
AGAIN_SECONDS = 0.1
SILENT_SECONDS = 3.0
"""A request without an answer is sent once more after this: the process that has it may have been
killed. Only requests that wait for something, and a few heavy ones, take so long otherwise."""
_CUT_OFF = "the server was away meanwhile, and the answer may be lost with it"
_PASSING = frozenset({Unavailable.code, Overloaded.code})

Reply = TypeVar("Reply", bound=msgspec.Struct)


async def ask(
    connection: Connection,
    address: tuple[str, str, str],
    request: msgspec.Struct,
    kind: type[Reply],
    wait: float = 0.0,
    principal: str = "",
    answer: float | None = None,
) -> Reply:
    """Ask the service at `(tenant, session, service)`, as `principal` if one is given, and wait up
    to `wait` seconds beyond `answer` (default `ANSWER_SECONDS`). Raises the service's error,
    `Forbidden`, `Unavailable`, and `UnknownVersion` where the service is of an earlier release that
    does not know a field of the request."""
    service, pending = address[2], None
    answer = ANSWER_SECONDS if answer is None else answer
    try:
        subject = request_subject(*address, principal)
        pending = _PendingRequest(connection, subject, request, wait, answer)
        reply = await pending.reply()
    except (msgspec.MsgspecError, TypeError, UnicodeEncodeError) as error:
        raise InvalidInput(f"{service} request: {why_unwritable(request, error)}") from None
    except nats.errors.MaxPayloadError:
        raise InvalidInput(
            f"this request to {service} is over the server's max_payload; send less"
        ) from None
    except nats.errors.NoRespondersError:
        raise Unavailable(
            f"no service answers {service}; start the services with `weft up`, or wait where they "
            "catch up with the log yet (see `weft status`)"
        ) from None
    except (nats.errors.TimeoutError, TimeoutError):
        was_cut_off = pending is not None and pending.was_cut_off
        gone = why_away(connection) or (_CUT_OFF if was_cut_off else "")
        todo = f": {gone}; try again" if gone else "; look at `weft status`"
        raise Unavailable(f"{service} gave no answer in {wait + answer:g} s{todo}") from None
    except nats.errors.Error as error:
        raise Unavailable(f"{service} could not be asked: {error}; try again") from None
    if code := (reply.headers or {}).get(ERROR_HEADER):
        told = msgspec.json.decode(reply.data, type=ErrorReply).message
        raise error_of_reply(service, code, told)
    try:
        return msgspec.json.decode(reply.data, type=kind)
    except msgspec.MsgspecError as error:
        raise Unavailable(
            f"{service} answered what this release does not know: {error}; use one release of "
            "weft everywhere"
        ) from None


class _PendingRequest:
    """A request that is sent as often as it has to be; the first reply counts."""

    def __init__(
        self,
        connection: Connection,
        subject: str,
        request: msgspec.Struct,
        wait: float,
        answer: float,
    ) -> None:
        self._connection = connection
        self._subject = subject
        self._allowed = _allowed(request)
        self._payload = msgspec.json.encode(request)
        self._may_be_repeated = not _decides_a_route(request)
        wait = wait if isinstance(wait, int | float) else 0.0  # the service refuses anything else
        self._seconds = wait + answer
        self._absent = min(wait, ABSENT_SECONDS)
        """For how long a service may still be absent."""
        self._loop = asyncio.get_running_loop()
        self._begun: float | None = None
        self._sent: set[asyncio.Task[Msg]] = set()
        self._news = asyncio.Event()
        self.was_cut_off = False
        self._error_reply: Msg | None = None
        """An error reply that counts only if no other reply comes: its sender cannot answer now."""

    async def reply(self) -> Msg:
        """Raises what `replied` raises."""
        self._send()
        with ExitStack() as at_end:
            at_end.callback(lambda: [task.cancel() for task in self._sent])
            at_end.callback(self._connection.on_reconnect(self._came_back))
            if self._may_be_repeated:
                at_end.callback(self._loop.call_later(SILENT_SECONDS, self._send).cancel)
            while True:
                await self._news.wait()
                self._news.clear()
                for task in [one for one in self._sent if one.done()]:
                    self._sent.discard(task)
                    if (reply := await self._taken(task)) is not None:
                        return reply

    def _send(self) -> None:
        spent = self._spent()
        left = max(AGAIN_SECONDS, self._seconds - spent)
        headers = {REPLY_TIMEOUT_HEADER: f"{left:.3f}"}
        if spent and self._allowed is not None:
            headers[TIME_LEFT_HEADER] = f"{max(0.0, self._allowed - spent):.3f}"
        asked = replied(self._connection, self._subject, self._payload, left, headers)
        task = asyncio.create_task(asked)
        task.add_done_callback(lambda _: self._news.set())
        self._sent.add(task)

    def _spent(self) -> float:
        """Seconds since it was sent first."""
        now = self._loop.time()
        self._begun = now if self._begun is None else self._begun
        return now - self._begun

    def _came_back(self) -> None:
        """The server may be another one now, which does not know the requests to the one before,
        though a service may have received them."""
        self._absent, self.was_cut_off = ABSENT_SECONDS, True
        if self._may_be_repeated:
            self._send()

    async def _taken(self, task: asyncio.Task[Msg]) -> Msg | None:
        """The reply, or None if another may still come."""
        try:
            reply = task.result()
        except nats.errors.NoRespondersError:
            if self._absent > 0 and self._spent() < self._seconds:
                self._absent -= AGAIN_SECONDS
                await asyncio.sleep(AGAIN_SECONDS)
                self._send()
            elif not self._sent:
                raise
            return None
        except (nats.errors.TimeoutError, TimeoutError):
            if not self._sent and self._error_reply is None:
                raise
            return None if self._sent else self._error_reply
        if self._sent and (reply.headers or {}).get(ERROR_HEADER) in _PASSING:
            self._error_reply = reply
            return None
        return reply


def _decides_a_route(request: Any) -> bool:
    """Whether a router decides about the request and records its decision. It does not if the
    request only takes a chosen tool's definition from a catalogue, or if it is a compile of the
    past, which asks no router."""
    request = getattr(request, "request", request)
    if isinstance(request, CompileRequest):
        return bool(request.catalog) and request.phase == Phase.ROUTE and request.as_of is None
    return isinstance(request, RouteRequest)


def _allowed(request: Any) -> float | None:
    """For how many seconds the request allows its service to wait. Raises `InvalidInput` for a
    number that JSON does not have: it would be sent as null, as if it had not been given."""
    inner = getattr(request, "request", request)
    for name in inner.__struct_fields__:
        held = getattr(inner, name)
        if type(held) is float and not isfinite(held):
            least, most = WAIT_SECONDS
            wanted = f"seconds, {least:g} to {most:g}" if name == "timeout" else "a whole number"
            raise InvalidInput(f"{name} is {held}; give {wanted}")
    timeout = getattr(inner, "timeout", None)
    return timeout if isinstance(timeout, int | float) else None
