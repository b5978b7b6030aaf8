"""The portable form of sessions: JSON lines of several kinds, which contain events byte for byte
and large bodies whole. First a `start`, then `record`s in the log's order, a body's `body` and
`chunk` lines before the first record that refers to it, and an `end` with the digest."""

from __future__ import annotations

import base64
import re

import msgspec

from weft.log.record import LogRecord
from weft_schemas.errors import InvalidInput
from weft_schemas.ids import SessionName, encode_token

FORMAT = 1


class StartLine(msgspec.Struct, frozen=True, tag="start", tag_field="line"):
    tenant: str
    session: str | None
    """Null for the whole tenant."""
    through: int
    """Contains everything up to this sequence of the original log."""
    settled: dict[str, int]
    """Worker → up to which sequence it had finished."""
    format: int = FORMAT


class RecordLine(msgspec.Struct, frozen=True, tag="record", tag_field="line", omit_defaults=True):
    sequence: int
    session: str
    direction: str
    event: str
    published_ns: int
    message_id: str = ""
    payload: msgspec.Raw = msgspec.Raw(b"null")
    """The event, if its bytes are JSON on one line."""
    base64: str | None = None
    """Its bytes, if they are not."""


class BodyLine(msgspec.Struct, frozen=True, tag="body", tag_field="line"):
    """The `chunk` lines that follow are a body."""

    sha256: str
    size: int


class ChunkLine(msgspec.Struct, frozen=True, tag="chunk", tag_field="line"):
    base64: str


class EndLine(msgspec.Struct, frozen=True, tag="end", tag_field="line"):
    records: int
    bodies: int
    digest: str
    """`CopyDigest` of the records."""


Line = StartLine | RecordLine | BodyLine | ChunkLine | EndLine

_EVENT = re.compile(r"[^\s.*>\x00-\x1f\x7f]+(\.[^\s.*>\x00-\x1f\x7f]+)?")
"""The end of a subject: the event's type, and who published it."""
_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


def encoded_line(line: Line) -> bytes:
    """A line with its line feed."""
    return _encoder.encode(line) + b"\n"


def read_line(text: bytes, number: int) -> Line:
    """Raises `InvalidInput` that names the line."""
    try:
        line = _decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"line {number} is none of an export: {error}") from None
    if isinstance(line, StartLine) and line.format > FORMAT:
        raise InvalidInput(
            f"the export has format {line.format}, this release reads up to {FORMAT}: upgrade it"
        )
    return line


def line_of(record: LogRecord) -> RecordLine:
    """A record of the log as a line."""
    address = record.address()
    payload = record.payload
    plain = payload == payload.strip() and b"\n" not in payload and _is_json(payload)
    return RecordLine(
        sequence=record.sequence,
        session=address.session,
        direction=address.direction,
        event=address.event,
        published_ns=record.published_ns,
        message_id=record.message_id,
        payload=msgspec.Raw(payload if plain else b"null"),
        base64=None if plain else base64.b64encode(payload).decode(),
    )


def record_of(line: RecordLine, tenant: str) -> tuple[LogRecord, SessionName]:
    """The record as it was in its log, and whose it was. Raises `InvalidInput` if no record can be
    at that subject."""
    place = f"{encode_token(tenant)}.{encode_token(line.session)}"
    if line.direction not in ("in", "out") or not _EVENT.fullmatch(line.event):
        raise InvalidInput(f"event {line.sequence} of the export has no place in a log")
    encoded = line.base64
    try:
        payload = (
            bytes(line.payload) if encoded is None else base64.b64decode(encoded, validate=True)
        )
    except ValueError:
        raise InvalidInput(f"event {line.sequence} of the export is not in base64") from None
    subject = f"w.{line.direction}.0.{place}.{line.event}"
    record = LogRecord(line.sequence, subject, line.published_ns, payload, line.message_id)
    return record, SessionName(tenant, line.session)


def _is_json(payload: bytes) -> bool:
    try:
        msgspec.json.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True
