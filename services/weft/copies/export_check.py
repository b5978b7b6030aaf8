"""Checks that an export is complete and unchanged, by reading it once before anything is
imported."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import IO, BinaryIO

from weft.copies.copy_digest import CopyDigest
from weft.copies.export_format import (
    BodyLine,
    ChunkLine,
    EndLine,
    RecordLine,
    StartLine,
    read_line,
    record_of,
)
from weft_schemas.errors import InvalidInput

_MEND = "nothing was imported; export again, or fetch the file again"


def check_export(file: BinaryIO | IO[bytes]) -> None:
    """Read an export to its end. Raises `InvalidInput` that names the line and what to do."""
    export = _Export()
    try:
        for number, text in enumerate(file, 1):
            export.take(text, number)
    except OSError as error:
        raise InvalidInput(f"the export cannot be read: {error.strerror}; {_MEND}") from None
    export.end()


class _Export:
    def __init__(self) -> None:
        self._start: StartLine | None = None
        self._end: EndLine | None = None
        self._copy_digest = CopyDigest()
        self._last = 0
        self._bodies = 0
        self._body: BodyLine | None = None
        self._content = hashlib.sha256()
        self._size = 0

    def take(self, text: bytes, number: int) -> None:
        try:
            self._line(text, number)
        except InvalidInput as error:
            raise InvalidInput(f"{error}; {_MEND}") from None
        except (binascii.Error, ValueError) as error:
            raise InvalidInput(f"line {number} is damaged ({error}); {_MEND}") from None

    def end(self) -> None:
        if self._start is None or self._end is None:
            raise InvalidInput(f"the export has no last line: it is not whole; {_MEND}")
        if (self._end.records, self._end.bodies) != (self._copy_digest.count, self._bodies):
            raise InvalidInput(
                f"the export holds {self._copy_digest.count} events and {self._bodies} bodies, its "
                f"last line says {self._end.records} and {self._end.bodies}; {_MEND}"
            )
        if self._end.digest != self._copy_digest.hexdigest():
            raise InvalidInput(f"the export was changed: its digest is another; {_MEND}")

    def _line(self, text: bytes, number: int) -> None:
        line = read_line(text, number)
        if self._end is not None or (self._start is None) != isinstance(line, StartLine):
            raise InvalidInput(f"line {number} stands in the wrong place")
        if not isinstance(line, ChunkLine):
            self._finish_body(number)
        match line:
            case StartLine():
                self._start = line
            case BodyLine():
                self._body, self._size, self._content = line, 0, hashlib.sha256()
            case ChunkLine():
                if self._body is None:
                    raise InvalidInput(f"line {number} belongs to no body")
                piece = base64.b64decode(line.base64, validate=True)
                self._content.update(piece)
                self._size += len(piece)
            case RecordLine():
                self._record(line, number)
            case EndLine():
                self._end = line

    def _record(self, line: RecordLine, number: int) -> None:
        assert self._start is not None
        if line.sequence <= self._last or line.direction not in ("in", "out"):
            raise InvalidInput(f"line {number} is no event of a log, or stands out of order")
        self._last = line.sequence
        record, name = record_of(line, self._start.tenant)
        record.address()
        self._copy_digest.take(record, name)

    def _finish_body(self, number: int) -> None:
        body, self._body = self._body, None
        if body is None:
            return
        if (self._content.hexdigest(), self._size) != (body.sha256, body.size):
            raise InvalidInput(
                f"the body before line {number} is damaged: it is not the {body.size} bytes of "
                f"{body.sha256}"
            )
        self._bodies += 1
