"""Views of any text: from the start, from the end, by line number, by pattern, errors only."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import re2

from weft.firewall.json_leaves import path_text
from weft.firewall.views.arguments import Value, number, words
from weft.firewall.views.artifact import Artifact
from weft.firewall.views.record_headings import RecordHeadings, fields_text
from weft.firewall.views.registry import Chunk, ViewRegistry, of_all
from weft.firewall.views.surroundings import surroundings
from weft_schemas.errors import InvalidInput

_CHUNK = 2_000
"""Bytes of a chunk of a text without lines."""
_LINE = 4_000
"""How many bytes of one line are shown by number; `head` with its offset gives the rest."""
_ERROR = (
    r"(?i)\b(?:error|fatal|critical|severe|panic|exception|traceback|failed|failure|denied|refused"
    r"|timed? ?out|not found|cannot|unable)\b|[a-z](?:Error|Exception)\b"
)


def register(views: ViewRegistry) -> None:
    views.register("*", "head", "from byte `offset` on", ("offset",), head)
    views.register("*", "tail", "the end, or what stands before byte `before`", ("before",), tail)
    views.register("*", "lines", "`count` lines from line `start` (1 is the first)",
                   ("start", "count"), lines)  # fmt: skip
    views.register("*", "search", "lines that match `pattern` (RE2), `context` lines around each; "
                   "of a long line what surrounds each match, with its JSON path",
                   ("pattern", "context", "start", "offset"), search, True)  # fmt: skip
    views.register("*", "errors", "lines that tell of an error, `context` lines around each",
                   ("context", "start", "offset"), errors, True)  # fmt: skip


def head(artifact: Artifact, args: Mapping[str, Value]) -> Iterator[Chunk]:
    at = number(args, "offset", 0)
    if at >= artifact.size:
        yield of_all(artifact.size, "bytes")
    while at < artifact.size:
        most = min(at + min(_CHUNK, artifact.piece), artifact.size)
        found = artifact.data.find(b"\n", at, most)
        end = found + 1 if found >= 0 else most
        end = max(artifact.whole_character(end), at + 1)
        yield Chunk(artifact.text(at, end), {"offset": end} if end < artifact.size else None)
        at = end


def tail(artifact: Artifact, args: Mapping[str, Value]) -> Iterator[Chunk]:
    """One chunk: the last bytes, from the start of a line if one is near."""
    end = min(number(args, "before", artifact.size), artifact.size)
    if end == 0:
        yield of_all(artifact.size, "bytes")
        return
    start = artifact.whole_character(max(0, end - min(_CHUNK, artifact.piece)))
    found = artifact.data.find(b"\n", start, end)
    if 0 <= found < end - 1 and start > 0:
        start = found + 1
    yield Chunk(artifact.text(start, end), {"before": start} if start > 0 else None)


def lines(artifact: Artifact, args: Mapping[str, Value]) -> Iterator[Chunk]:
    first = number(args, "start", 1, 1)
    count = number(args, "count", 1 << 60, 1)
    line = 0
    for line, (start, end) in enumerate(artifact.lines(), 1):
        if line < first:
            continue
        if line >= first + count:
            return
        more: dict[str, Value] = {"start": line + 1}
        yield Chunk(_numbered(artifact, line, start, end), more if end < artifact.size else None)
    if line < first:
        yield of_all(line, "lines")


def search(artifact: Artifact, args: Mapping[str, Value]) -> Iterator[Chunk]:
    pattern = words(args, "pattern")
    if not pattern:
        raise InvalidInput("drill-down: view 'search' needs a pattern; give one, such as 'ERROR'")
    found = _matching(artifact, _compiled(pattern), {"pattern": pattern, **args}, 1)
    return _or_none(artifact, found, "no match")


def errors(artifact: Artifact, args: Mapping[str, Value]) -> Iterator[Chunk]:
    found = _matching(artifact, _compiled(_ERROR), dict(args), 0)
    return _or_none(artifact, found, "no line that tells of an error")


def _or_none(artifact: Artifact, chunks: Iterator[Chunk], nothing: str) -> Iterator[Chunk]:
    """The chunks, or a line that says that there are none: a model would take an empty text for an
    empty artifact."""
    first = next(chunks, None)
    if first is None:
        lines = sum(1 for _ in artifact.lines())
        yield Chunk(f"({nothing}, in {lines:,} lines)\n", None)
        return
    yield first
    yield from chunks


def _compiled(pattern: str) -> Any:
    """The pattern over bytes: the offsets of its matches are those of the artifact."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern.encode(), options)
    except re2.error as error:
        reason = error.args[0] if error.args else "it is too large"
        reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise InvalidInput(
            f"drill-down: {pattern[:200]!r} is no regular expression (RE2): {reason}; write a "
            f"backslash before what is meant as it stands, such as {re2.escape('(')}"
        ) from None


def _matching(
    artifact: Artifact, pattern: Any, args: dict[str, Value], default: int
) -> Iterator[Chunk]:
    """Matching lines with their context; each line is shown once."""
    around = number(args, "context", default)
    first = number(args, "start", 1, 1)
    earlier: deque[tuple[int, int, int]] = deque(maxlen=around)
    left, shown = 0, 0
    headings: RecordHeadings | None = None
    for line, (start, end) in enumerate(artifact.lines(), 1):
        if line < first:
            continue
        more = _following(args, line + 1) if end < artifact.size else None
        if end - start > _LINE:
            after = number(args, "offset", 0) if line == first else 0
            yield from _in_long_line(artifact, pattern, args, (line, start, end), after)
            earlier.clear()
            left, shown = 0, line
            continue
        found = _match_in(artifact, pattern, start, end)
        if found is not None:
            headings = headings or RecordHeadings(artifact)
            gap = "…\n" if shown and earlier and earlier[0][0] > shown + 1 else ""
            text = gap + headings.above(start, found)
            text += "".join(_numbered(artifact, *held) for held in earlier)
            earlier.clear()
            left = around
        elif left > 0:
            text, left = "", left - 1
        else:
            earlier.append((line, start, end))
            continue
        shown = line
        yield Chunk(text + _numbered(artifact, line, start, end), more)


def _following(args: dict[str, Value], line: int) -> dict[str, Value]:
    return {name: value for name, value in args.items() if name != "offset"} | {"start": line}


def _in_long_line(
    artifact: Artifact, pattern: Any, args: dict[str, Value], at: tuple[int, int, int], after: int
) -> Iterator[Chunk]:
    """The surroundings of each match, if the whole line would be too long."""
    line, start, end = at
    for found in surroundings(artifact, pattern, start, end, after):
        shown = artifact.text(found.low, found.high).rstrip("\r\n")
        if not pattern.search(shown.encode()):
            continue  # a masked secret cannot be guessed by searching
        where = f" {artifact.masked_text(path_text(found.path))}" if found.path else ""
        where += fields_text(artifact, found.identity)
        more = _following(args, line) | {"offset": found.high}
        yield Chunk(f"{line}:{where} (offset {found.low}): {shown}\n", more)


def _match_in(artifact: Artifact, pattern: Any, start: int, end: int) -> int | None:
    """At which byte a line matches; None if it does not as it is shown: a masked secret cannot be
    guessed by searching."""
    found = pattern.search(artifact.data[start:end])
    if not found or not pattern.search(artifact.text(start, end).encode()):
        return None
    return start + int(found.start())


def _numbered(artifact: Artifact, line: int, start: int, end: int) -> str:
    shown = artifact.text(start, min(end, start + _LINE)).rstrip("\r\n")
    rest = f"…(offset {start + _LINE})" if end - start > _LINE else ""
    return f"{line}: {shown}{rest}\n"
