"""A transcript file as records that know their line, so that every error can name it.

A file is one JSON array, one JSON object that contains such an array under a known key, or JSON
lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn, TypeVar

import msgspec

from weft.whole_characters import whole_characters
from weft_schemas.errors import InvalidInput
from weft_schemas.faults import converted, valid_values

T = TypeVar("T")

LIST_KEYS = ("messages", "traj", "history", "items", "events", "trajectory", "contents", "input")
"""Keys under which the known formats keep their list: chat requests and LiveMCPBench, tau-bench,
OpenHands, weft, requests of Gemini and of OpenAI's Responses API."""

_SPACE = " \t\n\r"


class Record(msgspec.Struct, frozen=True):
    """One message, event or item of a file."""

    index: int
    """Its place among the records, from 0: its item's id is made from it."""
    line: int
    """The line on which it starts, from 1; 0 if it did not come from a file."""
    value: Any
    file: str = "-"
    start: int = 0
    """Offset at which it starts in the file, in characters."""

    def fail(self, what: str) -> NoReturn:
        """Raise `InvalidInput` that names file and line, or the place in the argument."""
        place = f"{self.file}, line {self.line}" if self.line else f"{self.file}[{self.index}]"
        raise InvalidInput(whole_characters(f"{place}: {what}; nothing was published"))

    def to(self, kind: type[T], value: Any = None, path: str = "$") -> T:
        """The record (or `value`, which is at `path` in it) as a Struct."""
        try:
            return converted(self.value if value is None else value, kind)
        except msgspec.ValidationError as error:
            message, _, field = str(error).partition(" - at ")
            inner = field.strip("`") or "$"
            values = valid_values(str(error), kind)
            todo = f"; use {', '.join(values)}" if values else ""
            self.fail(f"{path}{inner[1:]}: {message[0].lower()}{message[1:]}{todo}")


class TranscriptSource(msgspec.Struct, frozen=True):
    """A file split into records."""

    records: tuple[Record, ...]
    around: dict[str, Any] = {}
    """The fields beside the list, if the file is one object, such as `system`."""
    lines: bool = False
    """JSON lines, or a bare array: each record may be a transcript of its own."""
    text: str = ""
    """The whole file."""
    is_live: bool = False
    """It belongs to a running loop: the provider wants reasoning back."""

    def within(self, record: Record, key: str) -> TranscriptSource:
        """The list that one of the records contains under a key. All its records have that record's
        line; `located` finds their own."""
        inner = (
            Record(index, record.line, value, record.file, record.start)
            for index, value in enumerate(record.value[key])
        )
        return TranscriptSource(tuple(inner), _without_key(record.value, key))

    def located(self, record: Record, key: str) -> TranscriptSource:
        """The same, parsed again for the line of each: worth it only for reporting an error."""
        scanner = _Scanner(self.text, record.file)
        at = scanner.member(record.start, key)
        return TranscriptSource(tuple(scanner.array(at)), _without_key(record.value, key))


def read_source(content: bytes, file: str = "-") -> TranscriptSource:
    """Split a file into records. Raises `InvalidInput` with file and line if it is not JSON."""
    text = _decoded(content, file)
    scanner = _Scanner(text, file)
    start = scanner.skip(0)
    if start == len(text):
        raise InvalidInput(f"{file}, line 1: the file is empty; nothing was published")
    if text[start] == "[":
        return TranscriptSource(tuple(scanner.array(start)), lines=True, text=text)
    value, end = scanner.line_value(start)
    if scanner.skip(end) < len(text):
        return TranscriptSource(tuple(scanner.json_lines()), lines=True, text=text)
    return _object(scanner, start, value)


def _object(scanner: _Scanner, start: int, value: Any) -> TranscriptSource:
    if isinstance(value, dict):
        for key in LIST_KEYS:
            if isinstance(value.get(key), list):
                at = scanner.member(start, key)
                return TranscriptSource(tuple(scanner.array(at)), _without_key(value, key))
    record = Record(0, scanner.line(start), value, scanner.file, start)
    return TranscriptSource((record,), lines=True, text=scanner.text)


def _without_key(value: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: held for name, held in value.items() if name != key}


def _decoded(content: bytes, file: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidInput(
            f"{file}, line {line}: byte {error.start} is not UTF-8; nothing was published"
        ) from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


class _Scanner:
    """Walks JSON text with the standard decoder and counts lines."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self._decode = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode
        self._counted = 0
        self._line = 1

    def line(self, at: int) -> int:
        """The line of an offset; cheap if offsets are asked in order."""
        if at < self._counted:
            self._counted, self._line = 0, 1
        self._line += self.text.count("\n", self._counted, at)
        self._counted = at
        return self._line

    def skip(self, at: int) -> int:
        """The next offset that is not white space."""
        while at < len(self.text) and self.text[at] in _SPACE:
            at += 1
        return at

    def value(self, at: int) -> tuple[Any, int]:
        """The value at an offset, and where it ends."""
        try:
            return self._decode(self.text, at)
        except json.JSONDecodeError as error:
            self._fail(error.pos, f"not JSON: {error.msg} (column {error.colno})")
        except (ValueError, RecursionError) as error:
            self._fail(at, f"not JSON that can be read: {error}")

    def line_value(self, at: int) -> tuple[Any, int]:
        """The same for JSON lines: an error in a value that is cut off must not name the next line,
        into which it runs."""
        try:
            return self._decode(self.text, at)
        except (ValueError, RecursionError):
            end = self.text.find("\n", at)
            if end < 0 or self.text[self.skip(end) : self.skip(end) + 1] not in ("{", ""):
                return self.value(at)
            return _Scanner(self.text[:end], self.file).value(at)

    def array(self, at: int) -> Iterator[Record]:
        """The elements of the array at an offset."""
        at = self.skip(at + 1)
        index = 0
        while not self.text.startswith("]", at):
            value, end = self.value(at)
            yield Record(index, self.line(at), value, self.file, at)
            index += 1
            at = self.skip(end)
            if self.text.startswith(",", at):
                at = self.skip(at + 1)
            elif not self.text.startswith("]", at):
                self._fail(at, "not JSON: expected `,` or `]`")

    def json_lines(self) -> Iterator[Record]:
        """One value per line; empty lines are skipped and do not count for `index`."""
        at = self.skip(0)
        index = 0
        while at < len(self.text):
            value, end = self.line_value(at)
            line = self.line(at)
            rest = self.text.find("\n", end)
            rest = len(self.text) if rest < 0 else rest
            if self.text[end:rest].strip():
                self._fail(end, "more than one value on a line")
            yield Record(index, line, value, self.file, at)
            index += 1
            at = self.skip(rest)

    def member(self, at: int, key: str) -> int:
        """Where the value of `key` starts in the object at an offset, which is known to be valid
        JSON."""
        found = at
        at = self.skip(at + 1)
        while not self.text.startswith("}", at):
            name, end = self.value(at)
            start = self.skip(self.skip(end) + 1)
            found = start if name == key else found
            _, end = self.value(start)
            at = self.skip(end)
            at = self.skip(at + 1) if self.text.startswith(",", at) else at
        return found

    def _fail(self, at: int, what: str) -> NoReturn:
        line = self.text.count("\n", 0, at) + 1
        raise InvalidInput(f"{self.file}, line {line}: {what}; nothing was published")
