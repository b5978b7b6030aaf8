"""The few forms of the NATS protocol that bulk work speaks itself: commands out, headers in.

Pure functions over bytes. nats-py checks and formats every header of every message on its own; here
a header block is made once per message and a whole window of commands leaves in one write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from weft_schemas.errors import InvalidInput

MESSAGE_ID = b"Nats-Msg-Id"
TRACEPARENT = b"traceparent"
SETTLED = b"Weft-Settled"
"""See `LogRecord.settled`."""


def header_block(headers: Mapping[str, str]) -> bytes:
    """Headers as they stand in a message.

    Raises `InvalidInput` for a line break in a value: it would be read as another header.
    """
    block = "NATS/1.0\r\n"
    for name, value in headers.items():
        if "\n" in value or "\r" in value:
            raise InvalidInput(f"header {name} holds a line break; remove it")
        block += f"{name}: {value}\r\n"
    return (block + "\r\n").encode()


def publish_command(subject: str, reply: str, headers: bytes, payload: bytes) -> bytes:
    """PUB or HPUB with its payload. `headers` is a header block or empty.

    Raises `InvalidInput` for a subject with white space, which would be read as another command.
    """
    if not subject or " " in subject or not subject.isprintable():
        raise InvalidInput(f"subject {subject!r} has white space or is empty")
    if not headers:
        return b"PUB %b %b %d\r\n%b\r\n" % (subject.encode(), reply.encode(), len(payload), payload)
    size = len(headers)
    return b"HPUB %b %b %d %d\r\n%b%b\r\n" % (
        subject.encode(),
        reply.encode(),
        size,
        size + len(payload),
        headers,
        payload,
    )


def header(block: bytes | None, name: bytes) -> str:
    """One header's value, empty where it is absent."""
    if not block:
        return ""
    start = block.find(b"\r\n" + name + b":")
    if start < 0:
        return ""
    start += len(name) + 3
    return block[start : block.find(b"\r\n", start)].strip().decode("utf-8", "replace")


def status(block: bytes | None) -> tuple[int, str]:
    """Code and text of a status message such as 408 or 503; `(0, "")` for an ordinary one."""
    if not block or block[8:9] != b" ":
        return 0, ""
    code, _, text = block[9 : block.find(b"\r\n")].decode("ascii", "replace").partition(" ")
    return (int(code), text.strip()) if code.isdigit() else (0, "")


class Delivered(NamedTuple):
    """What the reply subject of a consumer's message says."""

    deliveries: int
    stream_sequence: int
    consumer_sequence: int
    published_ns: int
    pending: int
    """Messages that the consumer has yet to deliver after this one."""


def delivered(reply: bytes) -> Delivered:
    """Take `$JS.ACK.…` apart; its second form has domain and account between."""
    parts = reply.split(b".")
    if len(parts) >= 11:
        parts = parts[2:]
    return Delivered(int(parts[4]), int(parts[5]), int(parts[6]), int(parts[7]), int(parts[8]))
