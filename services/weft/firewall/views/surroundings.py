"""Matches in a line that is too long to show: the text around each, and in JSON the whole record
around it with its path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from weft.firewall.json_leaves import LeafPath
from weft.firewall.views.artifact import Artifact
from weft.firewall.views.json_path import Data, value_end
from weft.firewall.views.json_places import Frame, JsonPlaces, Span, path_of
from weft.firewall.views.record_headings import WALKED

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


class MatchExcerpt(msgspec.Struct, frozen=True):
    """What to show of one match, or of several close to each other."""

    low: int
    high: int
    """Bytes of the artifact, `high` exclusive."""
    path: LeafPath | None
    """Path of the JSON value that matches; None outside JSON."""
    identity: list[Span] = []
    """The fields that identify the records around it, of those that are not shown whole."""


def surroundings(
    artifact: Artifact, pattern: Any, start: int, end: int, after: int = 0
) -> Iterator[MatchExcerpt]:
    """The matches of a byte `pattern` in the line from `start` to `end` (exclusive), in order, from
    byte `after` on. Overlapping ones are shown once. Linear, apart from the bound for paths."""
    is_json = artifact.data[start : start + 1] in (b"{", b"[") and end - start <= WALKED
    places = JsonPlaces(artifact.data, start, end) if is_json else None
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
    artifact: Artifact, places: JsonPlaces | None, low: int, high: int, start: int, end: int
) -> MatchExcerpt:
    longest = min(_RECORD, _BYTES_PER_TOKEN * artifact.piece)
    path: LeafPath | None = None
    frames: Sequence[Frame] = ()
    if places is not None:
        frames = places.around(low)
        path = path_of(frames)
        record = _record(artifact.data, frames, longest)
        if record is not None and record[1] >= high:
            around = [one for one in frames if one.start < record[0]]
            return MatchExcerpt(*record, path, places.identity(around))
        start = max(start, frames[-1].start if frames else low)
    first = max(start, low - min(_BEFORE, longest // 4))
    last = min(end, max(first + min(_SHOWN, longest), min(high, low + _RECORD)))
    whose = [] if places is None else places.identity(frames)
    cut = artifact.whole_character(first), artifact.whole_character(last)
    # What the cut shows itself need not be said.
    return MatchExcerpt(*cut, path, [one for one in whose if not cut[0] <= one[0] < cut[1]])


def _record(data: Data, frames: Sequence[Frame], longest: int) -> Span | None:
    """The largest of these objects and arrays of at most `longest` bytes: None if even the
    innermost is larger."""
    best: Span | None = None
    for frame in reversed(frames):
        # Reading the data in pieces bounds the cost of a huge value.
        size = value_end(data[frame.start : frame.start + longest + 1], 0)
        if size > longest:
            break
        best = (frame.start, frame.start + size)
    return best
