"""One request to a service and its reply; every failure is one of weft's errors."""

from __future__ import annotations

import asyncio
from typing import TypeVar

import msgspec
import nats.errors
from nats.aio.msg import Msg

from weft.log.api import replied
from weft.log.connection import Connection
from weft_schemas.compile import ErrorReply
from weft_schemas.errors import ERROR_HEADER, InvalidInput, Unavailable, error_from
from weft_schemas.subjects import request_subject

ANSWER_SECONDS = 5.0
"""How long a service may take, in addition to the time that the request allows it to wait."""
ABSENT_SECONDS = 5.0
"""For how long a request is retried while no service answers: after a server's restart a service
reconnects within a second, and the client may be back before it."""
AGAIN_SECONDS = 0.1

Reply = TypeVar("Reply", bound=msgspec.Struct)


async def ask(
    connection: Connection,
    address: tuple[str, str, str],
    request: msgspec.Struct,
    kind: type[Reply],
    wait: float = 0.0,
    principal: str = "",
) -> Reply:
    """Ask the service at `(tenant, session, service)`, as `principal` if one is given, and wait up
    to `wait` seconds beyond `ANSWER_SECONDS`. Raises the service's error, `Forbidden`, and
    `Unavailable`."""
    service = address[2]
    try:
        payload = msgspec.json.encode(request)
        reply = await _replied(connection, request_subject(*address, principal), payload, wait)
    except (msgspec.MsgspecError, TypeError, UnicodeEncodeError) as error:
        raise InvalidInput(f"this request to {service} cannot be written: {error}") from None
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
        raise Unavailable(
            f"{service} gave no answer in {wait + ANSWER_SECONDS:g} s; look at `weft status`"
        ) from None
    except nats.errors.Error as error:
        raise Unavailable(f"{service} could not be asked: {error}; try again") from None
    code = (reply.headers or {}).get(ERROR_HEADER)
    if code:
        raise error_from(code, msgspec.json.decode(reply.data, type=ErrorReply).message)
    return _decoded(service, reply.data, kind)


async def _replied(connection: Connection, subject: str, payload: bytes, wait: float) -> Msg:
    absent = min(wait, ABSENT_SECONDS)
    while True:
        try:
            return await replied(connection, subject, payload, wait + ANSWER_SECONDS)
        except nats.errors.NoRespondersError:
            if absent <= 0:
                raise
        await asyncio.sleep(AGAIN_SECONDS)
        absent -= AGAIN_SECONDS


def _decoded(service: str, payload: bytes, kind: type[Reply]) -> Reply:
    try:
        return msgspec.json.decode(payload, type=kind)
    except msgspec.MsgspecError as error:
        raise Unavailable(
            f"{service} answered what this release does not know: {error}; use one release of "
            "weft everywhere"
        ) from None
