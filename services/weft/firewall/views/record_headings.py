"""A line above the matches in JSON of many lines: in which record they are, by its path and by the
fields that identify it."""

from __future__ import annotations

import msgspec

from weft.firewall.json_leaves import path_text
from weft.firewall.views.artifact import Artifact
from weft.firewall.views.json_places import Frame, JsonPlaces, Span, path_of

WALKED = 4 << 20
"""How many bytes of JSON are walked to find the paths: at about 20 MB/s, a fifth of a second."""
TOP, ELSEWHERE = "at the top:\n", "elsewhere:\n"


class RecordHeadings:
    """The headings of matches in rising order."""

    def __init__(self, artifact: Artifact) -> None:
        self._artifact = artifact
        self._places = JsonPlaces(artifact.data, 0, artifact.size) if _is_json(artifact) else None
        self._last = ""

    def above(self, line: int, match: int) -> str:
        """The heading of a match at byte `match` of the line that starts at byte `line`, with its
        line break; empty if the line shows the record itself or the last heading still holds. Where
        the slice is too small for it, a short one ends what the last one holds for."""
        if self._places is None:
            return ""
        while self._artifact.data[match : match + 1] in (b" ", b"\t"):
            match += 1
        frames = [one for one in self._places.around(match) if one.start < line]
        heading = self._heading(frames)
        if len(heading.encode()) > self._artifact.piece:
            heading = ELSEWHERE if self._last else ""
        if heading == self._last:
            return ""
        self._last = heading
        return heading

    def _heading(self, frames: list[Frame]) -> str:
        path = path_of(frames[:-1])
        if not path or self._places is None:
            return TOP if self._last else ""
        whose = fields_text(self._artifact, self._places.identity(frames))
        return f"in {self._artifact.masked_text(path_text(path))}{whose}:\n"


def fields_text(artifact: Artifact, fields: list[Span]) -> str:
    """` ("id": 7, "name": "Ann")`, with secrets masked; empty if there are none."""
    if not fields:
        return ""
    return f" ({', '.join(' '.join(artifact.text(*one).split()) for one in fields)})"


def _is_json(artifact: Artifact) -> bool:
    """Whether it is one JSON text: a log may begin with a bracket, too."""
    if artifact.size > WALKED or artifact.data[:1_000].lstrip()[:1] not in (b"{", b"["):
        return False
    try:
        msgspec.json.decode(artifact.data[:], type=msgspec.Raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True
