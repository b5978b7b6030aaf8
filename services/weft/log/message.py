"""Messages to publish, and their outcomes."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import Any

import msgspec

from weft.log.wire import header_block, publish_command
from weft_schemas.errors import InvalidInput, WeftError

HEADER_BYTES = 64 * 1024
"""The headers of a stored message must be smaller: a fixed limit of the server."""


class Message(msgspec.Struct, frozen=True):
    """A message to publish. Without a message id a retry can store it twice."""

    subject: str
    payload: bytes
    message_id: str = ""
    headers: dict[str, str] = {}


Messages = Iterable[Message] | AsyncIterable[Message]


class Ack(msgspec.Struct, frozen=True):
    """The message is stored."""

    sequence: int
    """In the stream; of a duplicate that of the first."""
    duplicate: bool = False
    """This message id was stored before, within the server's duplicate window."""


Outcome = Ack | WeftError
"""An ack, or an error: `Unavailable` if the outcome is unknown, any other if it was refused."""


class Reply(msgspec.Struct):
    """The server's answer to a message or, with a `type`, to a part of a batch."""

    type: str = ""
    """`ack`, `gap` or `err`; empty for the final one."""
    seq: int = 0
    """Of the batch in a flow ack, else of the stream."""
    batch: str = ""
    count: int = 0
    """Of a batch's final ack: how many of the first messages were taken."""
    duplicate: bool = False
    error: dict[str, Any] | None = None


decode_reply = msgspec.json.Decoder(Reply).decode


async def iterate(messages: Messages) -> AsyncIterator[Message]:
    """Both kinds of iterables as one."""
    if isinstance(messages, AsyncIterable):
        async for message in messages:
            yield message
    else:
        for message in messages:
            yield message


def event_headers(
    event_id: str, event_type: str, source: str, traceparent: str = ""
) -> dict[str, str]:
    """CloudEvents attributes in binary mode, and the trace that the event belongs to."""
    trace = {"traceparent": traceparent} if traceparent else {}
    about = {"ce-id": event_id, "ce-type": event_type, "ce-source": source}
    return {"ce-specversion": "1.0", **about, **trace}


def command(message: Message, reply: str, limit: int) -> bytes:
    """The message as a protocol command. Raises `InvalidInput` if it is over `limit` bytes."""
    headers = message.headers
    if message.message_id:
        headers = {**headers, "Nats-Msg-Id": message.message_id}
    block = header_block(headers) if headers else b""
    if len(block) >= HEADER_BYTES:
        raise InvalidInput(
            f"message to {message.subject[:100]}: its headers have {len(block)} bytes, the server "
            f"takes {HEADER_BYTES - 1}; shorten the ids"
        )
    if len(block) + len(message.payload) > limit:
        named = f"message {message.message_id[:64]!r} to {message.subject[:100]}"
        over = f"{len(message.payload)} bytes are over the server's max_payload of {limit}"
        raise InvalidInput(f"{named}: {over}; shorten it")
    return publish_command(message.subject, reply, block, message.payload)
