"""Matches in a line that is too long to show: the text around each, and in JSON the whole record
around it with its path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from weft.firewall.json_leaves import LeafPath, PathStep
from weft.firewall.views.artifact import Artifact
from weft.firewall.views.json_path import Data, key_text, tokens_of, value_end

_SEARCHED = 1 << 20
"""Bytes that are searched at once; stretches overlap by `_OVERLAP`."""
_OVERLAP = 4_096
"""Longest match, in bytes, that is found at any position."""
_SHOWN, _BEFORE = 480, 160
"""How many bytes of a match with its surroundings are shown, and of the text before it."""
_BYTES_PER_TOKEN = 3
"""Estimate for JSON: a chunk fits a slice of a third as many tokens as it has bytes."""
_RECORD = 1_000
"""The JSON value around a match is shown whole up to this many bytes."""
_WALKED = 4 << 20
"""How many bytes of JSON are walked to find the paths: at about 20 MB/s, a fifth of a second."""


class MatchExcerpt(msgspec.Struct, frozen=True):
    """What to show of one match, or of several close to each other."""

    low: int
    high: int
    """Bytes of the artifact, `high` exclusive."""
    path: LeafPath | None
    """Path of the JSON value that matches; None outside JSON."""


def surroundings(
    artifact: Artifact, pattern: Any, start: int, end: int, after: int = 0
) -> Iterator[MatchExcerpt]:
    """The matches of a byte `pattern` in the line from `start` to `end` (exclusive), in order, from
    byte `after` on. Overlapping ones are shown once. Linear, apart from the bound for paths."""
    is_json = artifact.data[start : start + 1] in (b"{", b"[") and end - start <= _WALKED
    places = _Places(artifact.data, start, end) if is_json else None
    shown = max(start, after)
    for low, high in _spans(artifact.data, pattern, shown, end):
        if low < shown:
            continue
        found = _excerpt(artifact, places, low, high, start, end)
        yield found
        shown = found.high


def _spans(data: Data, pattern: Any, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Matches that are not empty; one in an overlap is found twice."""
    while start < end:
        stop = min(end, start + _SEARCHED)
        for match in pattern.finditer(data[start:stop]):
            low, high = match.span()
            if low < high:
                yield start + low, start + high
        start = stop if stop == end else stop - _OVERLAP


def _excerpt(
    artifact: Artifact, places: _Places | None, low: int, high: int, start: int, end: int
) -> MatchExcerpt:
    longest = min(_RECORD, _BYTES_PER_TOKEN * artifact.piece)
    path: LeafPath | None = None
    if places is not None:
        path, innermost, record = places.at(low, longest)
        if record is not None and record[1] >= high:
            return MatchExcerpt(*record, path)
        start = max(start, innermost)
    first = max(start, low - min(_BEFORE, longest // 4))
    last = min(end, max(first + min(_SHOWN, longest), min(high, low + _RECORD)))
    return MatchExcerpt(artifact.whole_character(first), artifact.whole_character(last), path)


class _Frame(msgspec.Struct):
    """An object or array that is open."""

    start: int
    is_object: bool
    step: PathStep | None = None
    """The key or index of the member that the walk has reached."""
    expects_key: bool = True


class _Places:
    """Where an offset lies in a JSON text. Offsets are given in rising order: one pass over the
    tokens."""

    def __init__(self, data: Data, start: int, end: int) -> None:
        self._data = data
        self._tokens = tokens_of(data, start, end)
        self._next: re.Match[bytes] | None = next(self._tokens, None)
        self._open: list[_Frame] = []

    def at(self, offset: int, longest: int) -> tuple[LeafPath, int, tuple[int, int] | None]:
        """The path of the value at `offset`, the start of the innermost object or array around it,
        and the span of the largest one of at most `longest` bytes: None if even the innermost is
        larger."""
        while self._next is not None and self._next.start() <= offset:
            self._pass(self._next)
            self._next = next(self._tokens, None)
        path = tuple(frame.step for frame in self._open if frame.step is not None)
        innermost = self._open[-1].start if self._open else offset
        return path, innermost, self._record(longest)

    def _pass(self, token: re.Match[bytes]) -> None:
        kind = token.lastgroup
        if kind == "close":
            if self._open:
                self._open.pop()
            return
        if self._open:
            self._step(self._open[-1], token)
        if kind == "open":
            self._open.append(_Frame(token.start(), token.group() == b"{"))

    def _step(self, frame: _Frame, token: re.Match[bytes]) -> None:
        if not frame.is_object:
            frame.step = frame.step + 1 if isinstance(frame.step, int) else 0
        elif frame.expects_key:
            frame.step, frame.expects_key = key_text(token.group()), False
        else:
            frame.expects_key = True

    def _record(self, longest: int) -> tuple[int, int] | None:
        best: tuple[int, int] | None = None
        for frame in reversed(self._open):
            # Reading the data in pieces bounds the cost of a huge value.
            size = value_end(self._data[frame.start : frame.start + longest + 1], 0)
            if size > longest:
                break
            best = (frame.start, frame.start + size)
        return best
