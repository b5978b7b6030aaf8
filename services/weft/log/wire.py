"""The parts of the NATS protocol that bulk work uses directly: commands out, headers in. Pure
functions over bytes. A header block is made once per message; a window of commands is one write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from weft_schemas.errors import InvalidInput

SETTLED = b"Weft-Settled"
"""See `LogRecord.settled`."""

_TRACE = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_ID = re.compile(r"[!-~]{1,256}")
_PLAIN = re.compile(r"[!-~]+")
"""A subject as every client's inbox is: ASCII without blanks."""
_NO_INBOXES = ("weft.", "weft-rpc.", "weft-audit.", "w.", "$")


def takes_replies(subject: str) -> bool:
    """Whether a reply may be sent to this subject. The requester chooses it, and the reply is sent
    with the responder's permissions, so it must not be an event, a request or a server API call."""
    return _PLAIN.fullmatch(subject) is not None and not subject.startswith(_NO_INBOXES)


def is_from_tenant(reply: str) -> bool:
    """Whether a request came through the import of another account: the server gives it a reply
    subject of its own, which nobody within this account has."""
    return reply.startswith("_R_.")


def header_block(headers: Mapping[str, str]) -> bytes:
    """The headers of a message, as bytes. Raises `InvalidInput` for a line break in a value: it
    would be read as another header."""
    block = "NATS/1.0\r\n"
    for name, value in headers.items():
        if "\n" in value or "\r" in value:
            raise InvalidInput(f"header {name} holds a line break; remove it")
        block += f"{name}: {value}\r\n"
    return (block + "\r\n").encode()


def check_subject(subject: str) -> None:
    """Raises `InvalidInput` for white space: what follows would be read as another argument."""
    if not subject or " " in subject or not subject.isprintable():
        raise InvalidInput(f"subject {subject!r} has white space or is empty")


def publish_command(subject: str, reply: str, headers: bytes, payload: bytes) -> bytes:
    """PUB or HPUB with its payload; `headers` may be empty. Raises as `check_subject` does."""
    check_subject(subject)
    place, size = f"{subject} {reply}".encode(), len(headers) + len(payload)
    if not headers:
        return b"PUB %b %d\r\n%b\r\n" % (place, size, payload)
    return b"HPUB %b %d %d\r\n%b%b\r\n" % (place, len(headers), size, headers, payload)


def text_of(raw: bytes) -> str:
    """A subject as text: each byte that is not valid UTF-8 becomes U+FFFD, as in the server's API,
    since a message must be equal however it was read."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return _LONE.sub("\N{REPLACEMENT CHARACTER}", raw.decode("utf-8", "surrogateescape"))


_LONE = re.compile("[\udc80-\udcff]")


def header(block: bytes | None, name: bytes) -> str:
    """One header's value, empty if it is absent; the first, if there are several."""
    return _value(block, block.find(b"\r\n%b:" % name), name) if block else ""


def servers_header(block: bytes | None, name: bytes) -> str:
    """A header that the server adds to a message that it stores: the last of its name, since the
    publisher's come first and may have the same names."""
    return _value(block, block.rfind(b"\r\n%b:" % name), name) if block else ""


def headers_of(block: bytes | None) -> dict[str, str] | None:
    """A message's headers by name, the first of each; None if there are none."""
    if not block:
        return None
    lines = (line.partition(b":") for line in block.split(b"\r\n")[1:] if line)
    found: dict[str, str] = {}
    for name, _, value in lines:
        found.setdefault(text_of(name), text_of(value.strip(b" \t")))
    return found


class Command(NamedTuple):
    """PUB or HPUB, taken apart."""

    subject: str
    reply: str
    headers: dict[str, str] | None
    payload: bytes


def commands_in(written: bytes) -> list[Command]:
    """The commands in `written`, as `publish_command` makes them, in order."""
    found: list[Command] = []
    start = 0
    while start < len(written):
        end = written.index(b"\r\n", start)
        verb, subject, *others = written[start:end].split(b" ")
        sizes = 2 if verb == b"HPUB" else 1
        body, after = end + 2, end + 2 + int(others[-1])
        payload = body + int(others[-2]) if sizes == 2 else body
        reply = others[0] if len(others) > sizes else b""
        headers = headers_of(written[body:payload])
        found.append(Command(subject.decode(), reply.decode(), headers, written[payload:after]))
        start = after + 2
    return found


def block_of(headers: Mapping[str, str] | None) -> bytes | None:
    """A header block from nats-py's form of it."""
    if headers is None:
        return None
    others = dict(headers)
    code, text = others.pop("Status", ""), others.pop("Description", "")
    first = " ".join(("NATS/1.0", code, text)).strip()
    lines = (f"{name}: {value}" for name, value in others.items())
    return "\r\n".join((first, *lines, "", "")).encode()


def _value(block: bytes, start: int, name: bytes) -> str:
    if start < 0:
        return ""
    start += len(name) + 3
    end = block.find(b"\r\n", start)
    return text_of(block[start : end if end >= 0 else None].strip(b" \t"))


def message_id(block: bytes | None) -> str:
    """`Nats-Msg-Id`, empty if it is absent or cannot be sent again."""
    value = header(block, b"Nats-Msg-Id")
    return value if value and _ID.fullmatch(value) else ""


def checked_traceparent(block: bytes | None) -> str:
    """`traceparent` if it has the form of W3C's, else empty: it is copied to derived events."""
    value = header(block, b"traceparent")
    return value if value and _TRACE.fullmatch(value) else ""


def status(block: bytes | None) -> tuple[int, str]:
    """Code and text of a status message such as 408 or 503; `(0, "")` for an ordinary one."""
    if not block or block[8:9] != b" ":
        return 0, ""
    code, _, text = block[9 : block.find(b"\r\n")].decode("ascii", "replace").partition(" ")
    return (int(code), text.strip()) if code.isdigit() else (0, "")


class Delivered(NamedTuple):
    """The parts of a consumer message's reply subject."""

    deliveries: int
    stream_sequence: int
    consumer_sequence: int
    published_ns: int


def delivered(reply: bytes) -> Delivered:
    """Take `$JS.ACK.…` apart; its second form has domain and account between."""
    parts = reply.split(b".")
    if len(parts) >= 11:
        parts = parts[2:]
    return Delivered(int(parts[4]), int(parts[5]), int(parts[6]), int(parts[7]))
