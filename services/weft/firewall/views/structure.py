"""Views of JSON: the value at a path, and its keys with their types."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from weft.firewall.form import Form
from weft.firewall.leaf_worth import written
from weft.firewall.rule_paths import steps_of
from weft.firewall.views.arguments import Value, number, words
from weft.firewall.views.artifact import Artifact
from weft.firewall.views.json_path import elements, find, value_end
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
    artifact, at, is_lines = _found(artifact, path)
    if not is_lines and artifact.data[at : at + 1] not in (b"{", b"["):
        end = value_end(artifact.data, at)
        yield Chunk(artifact.text(at, min(end, at + _VALUE)), None)
        return
    members = _lines(artifact) if is_lines else elements(artifact.data, at)
    is_object = not is_lines and artifact.data[at : at + 1] == b"{"

    def line(name: str | int, start: int, end: int) -> str:
        shown = artifact.text(start, min(end, start + _VALUE))
        if end - start > _VALUE:
            shown += f"…(+{end - start - _VALUE} bytes at {written((*path, name))})"
        return f"{name}: {shown}\n" if is_object else f"[{name}] {shown}\n"

    yield from _each(members, path, first, last, line)


def keys(artifact: Artifact, args: Mapping[str, Value]) -> Iterator[Chunk]:
    path, first, last = _span(words(args, "path"), number(args, "start", 0))
    artifact, at, is_lines = _found(artifact, path)
    if not is_lines and artifact.data[at : at + 1] not in (b"{", b"["):
        raise InvalidInput(f"drill-down: {written(path) or '$'} has no keys; ask for view 'json'")
    members = _lines(artifact) if is_lines else elements(artifact.data, at)

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
        more: dict[str, Value] = {"path": written(path), "start": index + 1}
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


def _found(artifact: Artifact, path: tuple[str | int, ...]) -> tuple[Artifact, int, bool]:
    """What holds the value, where it starts, and whether it is the list of all lines of NDJSON. A
    summary's paths are those of structured content, a search's are those of the text beside it."""
    for one in (artifact.structured, artifact):
        if one is None:
            continue
        is_lines = _is_lines(one)
        found = 0 if is_lines and not path else _start(one, path, is_lines)
        if found is not None:
            return one, found, is_lines and not path
    raise NotFound(f"drill-down: nothing stands at {written(path)!r}; ask for view 'keys'")


def _start(artifact: Artifact, path: tuple[str | int, ...], is_lines: bool) -> int | None:
    """Where the value starts."""
    if not is_lines:
        return find(artifact.data, path)
    low = next((start for name, start, _ in _lines(artifact) if name == path[0]), None)
    return None if low is None else _inside(artifact, low, path[1:])


def _inside(artifact: Artifact, low: int, path: tuple[str | int, ...]) -> int | None:
    found = find(artifact.data[low : artifact.line_end(low)], path)
    return None if found is None else low + found


def _is_lines(artifact: Artifact) -> bool:
    """Whether this is one JSON value per line rather than one in all."""
    lines = list(islice(artifact.lines(), 2))
    return len(lines) == 2 and all(
        artifact.data[start : start + 1] == b"{" and artifact.data[start:end].rstrip()[-1:] == b"}"
        for start, end in lines
    )


def _lines(artifact: Artifact) -> Iterator[tuple[str | int, int, int]]:
    index = 0
    for start, end in artifact.lines():
        if artifact.data[start:end].strip():
            yield index, start, end
            index += 1


def _kind(first: bytes) -> str:
    return {b"{": "object", b"[": "array", b'"': "string", b"t": "boolean", b"f": "boolean",
            b"n": "null"}.get(first, "number")  # fmt: skip
