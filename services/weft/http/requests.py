"""A request's parts as values: body, query and session. Each is decoded strictly, and each fault is
named."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec

from weft.http.operations import Operation
from weft.http.problems import RequestRefused
from weft_schemas.errors import InvalidInput, UnknownVersion
from weft_schemas.events import VERSION
from weft_schemas.faults import with_valid_values
from weft_schemas.ids import TENANT_SESSION, encode_token
from weft_schemas.ranges import check_ranges

_FREE = ("publish", "messages")
"""Types of bodies whose texts have no limit of length."""
MAX_MEMBERS = 10_000
"""Of gzip in one body. Each takes a microsecond even if it holds nothing: without a limit, a body
of 32 MB that has 1.6 million of them would stop the process for seconds."""
_PIECE = 16 * 1024
"""Bytes unpacked at a time: what follows a member is copied, which must not be the whole body."""
_SEQUENCE = re.compile(r"[0-9]{1,18}\Z")


def body_of(operation: Operation, content: bytes) -> Any:
    """The body, decoded. Raises `InvalidInput` with the path of what is wrong."""
    try:
        body = _decoder(operation.name, operation.body).decode(content)
    except msgspec.ValidationError as error:
        said = with_valid_values(error, operation.body)
        raise InvalidInput(f"{operation.name}: {said}; see /openapi.json") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{operation.name}: the body is not JSON: {error}") from None
    except RecursionError:
        raise InvalidInput(f"{operation.name}: the body is nested too deeply") from None
    if getattr(body, "v", VERSION) > VERSION:
        raise UnknownVersion(f"{operation.name}: $.v is {body.v}; this release knows {VERSION}")
    if operation.name not in _FREE:
        check_ranges(body, operation.name)
    return body


@lru_cache(maxsize=64)
def _decoder(name: str, kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def query_of(operation: Operation, parameters: Mapping[str, str]) -> Any:
    """The query string, decoded. Raises `InvalidInput`, also for an unknown name."""
    known = operation.query.__struct_fields__ if operation.query else ()
    for name in parameters:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise InvalidInput(f"{operation.name}: no parameter {name!r:.60}; there are: {listed}")
    if operation.query is None:
        return None
    try:
        query = msgspec.convert(dict(parameters), operation.query, strict=False)
    except msgspec.ValidationError as error:
        said = with_valid_values(error, operation.query)
        raise InvalidInput(f"{operation.name}: query: {said}") from None
    check_ranges(query, f"{operation.name} query")
    return query


def session_of(segment: str, raw_path: bytes) -> str:
    """The session that a path names: by its id, or by `=` and the id in base64url, whether it needs
    that or not. Raises `InvalidInput`, also for a path that is no UTF-8: whatever is not would read
    as one and the same character."""
    if "\N{REPLACEMENT CHARACTER}" in segment and not _is_utf8(unquote_to_bytes(raw_path)):
        raise InvalidInput("the session's id is not UTF-8; percent-encode its UTF-8 bytes")
    session = _unwrapped(segment) if segment.startswith("=") else segment
    if session == TENANT_SESSION:
        raise InvalidInput(f"{TENANT_SESSION} holds the tenant's own events; name a session")
    encode_token(session, what="session")
    return session


def _is_utf8(path: bytes) -> bool:
    try:
        path.decode()
    except UnicodeDecodeError:
        return False
    return True


def _unwrapped(segment: str) -> str:
    try:
        raw = segment[1:].encode("ascii")
        return base64.b64decode(
            raw + b"=" * (-len(raw) % 4), altchars=b"-_", validate=True
        ).decode()
    except ValueError:
        raise InvalidInput(
            f"session {segment!r:.60} is not `=` and an id's UTF-8 in base64url; write an id that "
            "begins with `=` as `=` and its base64url form"
        ) from None


def last_event_of(value: str | None) -> int | None:
    """`Last-Event-ID` as a sequence. Raises `InvalidInput`."""
    if value is None or value == "":
        return None
    if not _SEQUENCE.match(value):
        raise InvalidInput(f"Last-Event-ID {value!r:.40} is no sequence; send the id of an event")
    return int(value)


def checked_type(content_type: str, wanted: tuple[str, ...]) -> str:
    """The media type of a body. Raises `RequestRefused` if it is none of those wanted."""
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type not in wanted:
        raise RequestRefused(
            415,
            "media_type",
            f"Content-Type {media_type!r:.60} is not read here; send {' or '.join(wanted)}",
        )
    return media_type


def inflated(content: bytes, encoding: str, most: int) -> bytes:
    """The body without its `Content-Encoding`, of at most so many bytes. Raises
    `RequestRefused`."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return content
    if name != "gzip":
        raise RequestRefused(
            415, "encoding", f"Content-Encoding {name!r:.40} is not read; send gzip"
        )
    return _unzipped(content, most)


def _unzipped(content: bytes, most: int) -> bytes:
    """The members of a gzip file, one after the other; RFC 1952 allows several."""
    parts, room, at = list[bytes](), most, 0
    for _ in range(MAX_MEMBERS):
        unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        while not unpacker.eof:
            piece = content[at : at + _PIECE]
            if not piece:
                raise InvalidInput("the body is not whole: its gzip ends early")
            try:
                parts.append(unpacker.decompress(piece, room + 1))
            except zlib.error:
                raise InvalidInput(
                    f"the body is no gzip from byte {at:,} on, as its Content-Encoding says; "
                    "send gzip and nothing after it"
                ) from None
            room -= len(parts[-1])
            if room < 0:
                raise too_large(most)
            at += len(piece) - len(unpacker.unused_data)
        if at == len(content):
            return b"".join(parts)
    raise InvalidInput(f"the body has more than {MAX_MEMBERS:,} members of gzip; send one")


def too_large(most: int) -> RequestRefused:
    return RequestRefused(
        413, "size", f"the body has more than {most:,} bytes, which this server takes; send less"
    )
