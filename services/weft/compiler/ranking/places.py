"""The lines of viewed files that the newest failures point at. A compiler's message, a traceback or
a panic names a file and a line, and the agent will probably change the code there."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import LOOK_BACK, MAX_POINTED_LINES, POINTING
from weft.passages.part import Part
from weft.readmodel.rows import ItemRow

_READ = 20_000
"""Characters of a result, from its start, in which places are looked for."""
_MAX_PLACES = 64
"""Of one result."""
_PLACE = re.compile(
    r"(?<![\w./\\@+-])([\w./\\@+-]++)(?::(?:line )?|\(|[\"']?,? (?:on )?line )(\d{1,6})(?!\d)"
)
"""A path and a line: `a/b.go:12:3`, `File "b.py", line 12`, `b.ts(12,3)`, `b.php on line 12`."""
_PATH = re.compile(r"(?<![\w./\\@+-])[\w./\\@+-]++")
_HEADER = 400
"""Characters at the start of a view that may name its file."""
_CALL = 4_000
"""Characters of a call that may name it."""
_MAX_NAMES = 16
"""Most names of a path that are compared; folders above these distinguish no files."""
_NUMBER = re.compile(r"^[ \t]{0,8}(\d{1,7})(?=[:|\t\u2192-])", re.MULTILINE)
"""The number of a line, as editors, `cat -n` and `grep -n` write it."""


def pointed_lines(groups: Sequence[Group]) -> Mapping[int, frozenset[int]]:
    """By sequence of a result that views a file, the lines at which the newest failures point:
    of several views, in the newest that has the line. `groups` are in order."""
    calls = [group for group in groups if group.is_call][-LOOK_BACK:]
    newest = [row for group in calls[-POINTING:] for row in group.rows[1:] if row.failed]
    wanted = {place for row in newest for place in _places(row)}
    found: defaultdict[int, set[int]] = defaultdict(set)
    for group in reversed(calls):
        if not wanted:
            break
        called = group.rows[0].whole[:_CALL]
        for row in group.rows[1:]:
            paths = {one for text in (called, row.readable[:_HEADER]) for one in _paths(text)}
            named = _named(wanted, paths)
            if named:
                held = set(map(int, _NUMBER.findall(row.readable)))
                wanted -= (seen := {place for place in named if place[1] in held})
                found[row.sequence].update(line for _, line in seen)
    return {
        at: frozenset(lines) for at, lines in found.items() if 0 < len(lines) <= MAX_POINTED_LINES
    }


def parts_at(text: str, leaves: Sequence[Part], lines: frozenset[int]) -> frozenset[int]:
    """The numbers of the leaves that have one of these numbered lines."""
    return frozenset(
        number
        for number, part in enumerate(leaves)
        if any(int(one) in lines for one in _NUMBER.findall(text[part.start : part.end]))
    )


_Place = tuple[tuple[str, ...], int]
"""The names in a path, the last first, and the number of a line."""


def _places(row: ItemRow) -> Iterator[_Place]:
    for found in islice(_PLACE.finditer(row.whole[:_READ]), _MAX_PLACES):
        if path := _path(found[1]):
            yield path, int(found[2])


def _paths(text: str) -> Iterator[tuple[str, ...]]:
    return filter(None, map(_path, _PATH.findall(text)))


def _path(written: str) -> tuple[str, ...]:
    """The last names in a path, the very last first; empty for a word that is no path."""
    if "." not in written and "/" not in written:
        return ()
    names = written.replace("\\", "/").split("/")
    told = (name for name in reversed(names) if name not in ("", ".", ".."))
    return tuple(islice(told, _MAX_NAMES))


def _named(wanted: Collection[_Place], paths: Collection[tuple[str, ...]]) -> set[_Place]:
    """The places in files that these paths may name; either path may begin at a higher folder.
    Paths are looked up, not compared with each place: a call may list hundreds of files."""
    lengths = {len(path) for path, _ in wanted}
    begun = {path[:length] for path in paths for length in lengths}

    def is_named(path: tuple[str, ...]) -> bool:
        return path in begun or any(path[:length] in paths for length in range(1, len(path)))

    return {place for place in wanted if is_named(place[0])}
