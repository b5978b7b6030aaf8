"""Views of JSON: the value at a path, and its keys with their types."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from weft.firewall.form import Form
from weft.firewall.json_leaves import path_text
from weft.firewall.rule_paths import steps_of
from weft.firewall.views.arguments import Value, number, words
from weft.firewall.views.artifact import Artifact
from weft.firewall.views.json_path import elements, find, is_stream, stream, value_end
from weft.firewall.views.registry import Chunk, ViewRegistry, of_all
from weft_schemas.errors import InvalidInput, NotFound

_VALUE = 8_000
"""Bytes of one member that are shown; a longer one has its own path."""
_RANGE = re.compile(r"\[(\d{0,18}):(\d{0,18})\]\Z")
Member = tuple[str | int, int, int]
"""Key or index, start and end."""


def register(views: ViewRegistry) -> None:
    for form in (Form.JSON, Form.NDJSON):
        views.register(str(form), "json", "the value at `path`, such as `a.b[3]` or `a[10:20]`",
                       ("path", "start"), value)  # fmt: skip
        views.register(str(form), "keys", "names and types of what stands at `path`",
                       ("path", "start"), keys)  # fmt: skip


def value(artifact: Artifact, args: Mapping[str, Value]) -> Iterator[Chunk]:
    """A scalar unchanged; an object or array member by member."""
    path, first, last = _span(words(args, "path"), number(args, "start", 0))
    artifact, at, members = _found(artifact, path)
    if members is None:
        end = value_end(artifact.data, at)
        yield Chunk(artifact.text(at, min(end, at + _VALUE)), None)
        return
    is_object = artifact.data[at : at + 1] == b"{"

    def line(name: str | int, start: int, end: int) -> str:
        shown = artifact.text(start, min(end, start + _VALUE))
        if end - start > _VALUE:
            shown += f"…(+{end - start - _VALUE} bytes at {path_text((*path, name))})"
        return f"{name}: {shown}\n" if is_object else f"[{name}] {shown}\n"

    yield from _each(members, path, first, last, line)


def keys(artifact: Artifact, args: Mapping[str, Value]) -> Iterator[Chunk]:
    path, first, last = _span(words(args, "path"), number(args, "start", 0))
    artifact, _, members = _found(artifact, path)
    if members is None:
        raise InvalidInput(f"drill-down: {path_text(path) or '$'} has no keys; ask for view 'json'")

    def line(name: str | int, start: int, end: int) -> str:
        return f"{name}: {_kind(artifact.data[start : start + 1])}, {end - start} bytes\n"

    yield from _each(members, path, first, last, line)


def _each(
    members: Iterator[Member],
    path: tuple[str | int, ...],
    first: int,
    last: int,
    line: Callable[[str | int, int, int], str],
) -> Iterator[Chunk]:
    """A line for each member from `first` to `last` (exclusive)."""
    skipped = sum(1 for _ in islice(members, first))
    member = next(members, None)
    if member is None:
        yield of_all(skipped, "members")
    for index in range(first, last):
        if member is None:
            return
        shown, member = member, next(members, None)
        more: dict[str, Value] = {"path": path_text(path), "start": index + 1}
        yield Chunk(line(*shown), more if member is not None else None)


def _span(path: str, start: int) -> tuple[tuple[str | int, ...], int, int]:
    """Steps of a path, and the members that a trailing `[10:20]` selects."""
    asked = _RANGE.search(path)
    last = 1 << 60
    if asked is not None:
        path = path[: asked.start()]
        start = max(start, int(asked.group(1) or 0))
        last = int(asked.group(2) or last)
        if last <= start:
            raise InvalidInput(
                f"drill-down: {asked.group()} from {start} on holds no member; the first number is "
                "that of the first member, the second that of the one behind the last"
            )
    steps = steps_of(path)
    if "*" in steps:
        raise InvalidInput("drill-down: a path names one place; give an index instead of [] or *")
    return steps, start, last


def _found(
    artifact: Artifact, path: tuple[str | int, ...]
) -> tuple[Artifact, int, Iterator[Member] | None]:
    """What holds the value, where it starts, and its members: None of a scalar. Records that stand
    one after another are a list that starts nowhere (-1). A summary's paths are those of structured
    content, a search's are those of the text beside it."""
    for one in (artifact.structured, artifact):
        if one is None:
            continue
        records = _records(one)
        if records is not None and not path:
            return one, -1, records
        at = find(one.data, path) if records is None else _in_record(one, records, path)
        if at is not None:
            held = one.data[at : at + 1] in (b"{", b"[")
            return one, at, elements(one.data, at) if held else None
    raise NotFound(f"drill-down: nothing stands at {path_text(path)!r}; ask for view 'keys'")


def _in_record(
    artifact: Artifact, records: Iterator[Member], path: tuple[str | int, ...]
) -> int | None:
    for name, start, end in records:
        if name == path[0]:
            found = find(artifact.data[start:end], path[1:])
            return None if found is None else start + found
    return None


def _records(artifact: Artifact) -> Iterator[Member] | None:
    """The records of a text of several, in a line or in some lines each; None of one value."""
    if _is_lines(artifact):
        return _lines(artifact)
    return stream(artifact.data) if is_stream(artifact.data) else None


def _is_lines(artifact: Artifact) -> bool:
    """Whether this is one JSON value per line rather than one in all."""
    lines = list(islice(artifact.lines(), 2))
    return len(lines) == 2 and all(
        artifact.data[start : start + 1] == b"{" and artifact.data[start:end].rstrip()[-1:] == b"}"
        for start, end in lines
    )


def _lines(artifact: Artifact) -> Iterator[Member]:
    index = 0
    for start, end in artifact.lines():
        if artifact.data[start:end].strip():
            yield index, start, end
            index += 1


def _kind(first: bytes) -> str:
    return {b"{": "object", b"[": "array", b'"': "string", b"t": "boolean", b"f": "boolean",
            b"n": "null"}.get(first, "number")  # fmt: skip
