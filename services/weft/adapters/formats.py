"""Detects the format of a file and reads its transcripts: most files contain one, data sets contain
many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import entry_points
from typing import Any

import msgspec

from weft.adapters import (
    anthropic,
    contextweaver,
    gemini,
    openai,
    openhands,
    responses,
    weft,
)
from weft.adapters.drafting import Reading
from weft.adapters.records import LIST_KEYS, Record, TranscriptSource, read_source
from weft.part_kind import part_kind
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind

READERS: dict[str, Callable[[TranscriptSource], Reading]] = {
    "weft": weft.read,
    "openai": openai.read,
    "anthropic": anthropic.read,
    "openai-responses": responses.read,
    "gemini": gemini.read,
    "contextweaver": contextweaver.read,
    "openhands": openhands.read,
}

FORMATS = tuple(READERS)

GROUP = "weft.transcripts"
"""Entry points of data sets: a function that reads a record, or returns None if the record is not
its own. Its name is the transcript's format. They are tried if no built-in format fits."""

_NAME_KEYS = ("sample_id", "instance_id", "task_id", "id")


class Transcript(msgspec.Struct, frozen=True):
    """One session from a file."""

    name: str
    """The data set's own name for it, otherwise its number."""
    format: str
    items: tuple[ContextItem, ...]
    value: Any = None
    """The record that it came from, if the file contains several: labels, gold, costs."""
    left_out: dict[str, int] = {}
    """How many media of each kind (`image`, `audio`, `video`, `file`, `part`) the items leave out;
    a placeholder names each."""


def read_items(content: bytes, format: str = "auto", file: str = "-") -> list[ContextItem]:
    """The items of a file with one transcript.

    Raises `InvalidInput` with file, line and field; for a file with several, it says how many.
    """
    found = read_transcripts(content, format, file)
    if len(found) != 1:
        raise InvalidInput(
            f"{file}: holds {len(found)} transcripts; choose one (--transcript 0 to "
            f"{len(found) - 1}) or publish each to a session of its own (--each)"
        )
    return list(found[0].items)


def read_transcripts(content: bytes, format: str = "auto", file: str = "-") -> list[Transcript]:
    """Every transcript of a file: a chat, an event stream, or a data set of either.

    Raises `InvalidInput` with file, line and field.
    """
    if format != "auto" and format not in READERS:
        raise InvalidInput(f"format {format!r} is unknown; use auto or {', '.join(FORMATS)}")
    source = read_source(content, file)
    if source.lines and source.records and _holds_many(source.records[0]):
        return list(_many(source, format))
    if not source.records:
        raise InvalidInput(f"{file}, line 1: no items in this file; nothing was published")
    return [_transcript("0", source, format)]


def detect(
    source: TranscriptSource, advice: str = f"say which it is with --format {'|'.join(FORMATS)}"
) -> str:
    """The format of a file's records. Raises `InvalidInput` if none fits, with advice on naming
    it."""
    for record in source.records:
        if not isinstance(record.value, dict):
            record.fail(f"expected an object, got `{type(record.value).__name__}`")
    first: dict[str, Any] = source.records[0].value
    if "parts" in first and _has(source, "parts"):
        return "gemini"
    if any(_is_responses(record.value) for record in source.records):
        return "openai-responses"
    if "role" in first:
        return "anthropic" if _is_anthropic(source) else "openai"
    if "action" in first or "observation" in first:
        return "openhands"
    if "kind" in first:
        return "weft"
    if part_kind(first) in set(ItemKind):
        return "contextweaver"
    keys = ", ".join(sorted(first)[:8]) or "(none)"
    source.records[0].fail(f"no format that we read has records with the keys {keys}; {advice}")


def _transcript(name: str, source: TranscriptSource, format: str, value: Any = None) -> Transcript:
    chosen = detect(source) if format == "auto" else format
    return _made(name, chosen, READERS[chosen](source), value)


def _made(name: str, format: str, reading: Reading, value: Any) -> Transcript:
    return Transcript(name, format, reading.items, value, reading.left_out)


def _many(source: TranscriptSource, format: str) -> Iterator[Transcript]:
    for record in source.records:
        key = _inner(record)
        if key is None:
            yield _of_data_set(record)
        elif record.value[key]:
            yield _one_of_many(_name(record), source, record, key, format)
        else:
            yield Transcript(_name(record), format, (), record.value)


def _of_data_set(record: Record) -> Transcript:
    offered = _offered(record)
    if offered is None:
        record.fail(f"expected a transcript with one of {', '.join(LIST_KEYS)}, like the first")
    return _made(_name(record), *offered, record.value)


def _holds_many(first: Record) -> bool:
    """Whether a file that begins with this record contains whole transcripts rather than events."""
    return _inner(first) is not None or _offered(first) is not None


def _inner(record: Record) -> str | None:
    """The key under which a record contains a whole transcript."""
    value = record.value
    if not isinstance(value, dict):
        return None
    return next((key for key in LIST_KEYS if isinstance(value.get(key), list)), None)


def _offered(record: Record) -> tuple[str, Reading] | None:
    """The record as read by an installed reader of data sets, after the format's name."""
    for name, read in _installed():
        reading = read(record)
        if reading is not None:
            return name, reading
    return None


@cache
def _installed() -> list[tuple[str, Callable[[Record], Reading | None]]]:
    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    return [(point.name, point.load()) for point in points]


def _one_of_many(
    name: str, source: TranscriptSource, record: Record, key: str, format: str
) -> Transcript:
    try:
        return _transcript(name, source.within(record, key), format, record.value)
    except InvalidInput:
        return _transcript(name, source.located(record, key), format, record.value)


def _name(record: Record) -> str:
    """`task_id`, and the trial if a data set runs each task several times."""
    value = record.value
    for key in _NAME_KEYS:
        if isinstance(value.get(key), str | int):
            trial = value.get("trial")
            return f"{value[key]}-{trial}" if isinstance(trial, int) else str(value[key])
    return str(record.index)


def _has(source: TranscriptSource, key: str) -> bool:
    """Whether any record contains a list under the key."""
    return any(isinstance(record.value.get(key), list) for record in source.records)


_RESPONSES_PARTS = {"input_text", "output_text", "input_image", "input_file"}


def _is_responses(item: dict[str, Any]) -> bool:
    """Whether only the Responses API has such items. Any chat may have a message with plain
    text."""
    kind, content = part_kind(item), item.get("content")
    if kind == "message" or item.get("type") is None:
        return isinstance(content, list) and any(
            isinstance(part, dict) and part_kind(part) in _RESPONSES_PARTS for part in content
        )
    return "role" not in item and kind in responses.TYPES


_ANTHROPIC_BLOCKS = {*anthropic.CALLS, "tool_result", "thinking", "redacted_thinking"}


def _is_anthropic(source: TranscriptSource) -> bool:
    if "system" in source.around:
        return True
    contents = (record.value.get("content") for record in source.records)
    return any(
        isinstance(part, dict) and part_kind(part) in _ANTHROPIC_BLOCKS
        for content in contents
        if isinstance(content, list)
        for part in content
    )
