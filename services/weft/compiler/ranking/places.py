"""The lines of viewed files that the newest failures point at, or quote. A compiler's message, a
traceback or a panic names a file and a line, and the agent will probably change the code there."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import LINES_ABOVE, LOOK_BACK, MAX_POINTED_LINES, POINTING
from weft.passages.part import Part
from weft.readmodel.rows import ItemRow

_READ = 20_000
"""Characters of a result, from its start, in which places are looked for."""
_MAX_PLACES = 64
"""Of one result."""
_PLACE = re.compile(
    r"(?<![\w./\\@+-])([\w./\\@+-]++)"
    r"(?::(?:line )?|#L|\((?=[\d,]{1,13}\) ?:)|[\"']?,? (?:on )?line )(\d{1,6})(?!\d)"
)
"""A path and a line: `a/b.go:12:3`, `File "b.py", line 12`, `b.ts(12,3):`, `b.php on line 12`,
`b.rs#L12`; not a call, `store.take(12)`."""
_LISTED = re.compile(
    r"(?<![\w./\\@+-])([\w./\\@+-]++)[\"'`]?,?[ \t]\(?(?:at |on |in )?lines?[ \t]"
    r"([1-9]\d{0,5}(?:(?:, ?|[ \t]?[-\u2013][ \t]?| (?:and|or) )[1-9]\d{0,5})*)(?![\w.])"
)
"""A path and several lines: `b.go (lines 64, 77)`, `b.py, lines 3-9`."""
_NUMBERS = re.compile(r"\d+")
_PATH = re.compile(r"(?<![\w./\\@+-])[\w./\\@+-]++")
_HEADER = 400
"""Characters at the start of a view that may name its file."""
_CALL = 4_000
"""Characters of a call that may name it."""
_MAX_NAMES = 16
"""Most names of a path that are compared; folders above these distinguish no files."""
_QUOTE = re.compile(r"[ \t]{0,40}(?:\d{1,7}[ \t]{0,8}[:|][ \t]{0,80}|[|>][ \t]{1,80})?(\S.{0,400})")
"""A line that may quote one of code: `89 |     if wait {`, or only indented."""
_MIN_QUOTED = 12
"""Characters of a quoted line; shorter ones may stand anywhere."""
LINE_NUMBER = re.compile(r"^[ \t]{0,8}(\d{1,7})(?=[:|\t\u2192-]| {1,2}\|)", re.MULTILINE)
"""The number of a line, as editors, `cat -n` and `grep -n` write it."""


def pointed_lines(groups: Sequence[Group], newest: int = POINTING) -> Mapping[int, frozenset[int]]:
    """By sequence of a result that views a file, the lines at which failures of the `newest` calls
    point: of several views, in the newest that has the line. `groups` are in order."""
    calls, failed = _calls(groups, newest)
    wanted = {place for row in failed for place in places_in(row)}
    found: defaultdict[int, set[int]] = defaultdict(set)
    for group in reversed(calls):
        if not wanted:
            break
        for row in group.rows[1:]:
            named = named_places(wanted, paths_of(group, row))
            if named:
                held = set(map(int, LINE_NUMBER.findall(row.readable)))
                wanted -= (seen := {place for place in named if place[1] in held})
                found[row.sequence].update(line for _, line in seen)
    return {
        at: frozenset(lines) for at, lines in found.items() if 0 < len(lines) <= MAX_POINTED_LINES
    }


def lines_above(
    groups: Sequence[Group], pointed: Mapping[int, frozenset[int]]
) -> Mapping[int, frozenset[int]]:
    """Of the `pointed` lines, those before each at which the very newest call failed: what is wrong
    often begins above."""
    _, failed = _calls(groups, 1)
    newest = {line for row in failed for _, line in places_in(row)}
    return {
        at: frozenset(above for line in lines & newest for above in range(line - LINES_ABOVE, line))
        - lines
        for at, lines in pointed.items()
        if not lines.isdisjoint(newest)
    }


def quoted_lines(groups: Sequence[Group], newest: int = POINTING) -> Mapping[int, frozenset[int]]:
    """By sequence of a result that views a file without numbers, where lines begin which failures
    of the `newest` calls quote that name a place in that file. `groups` are in order."""
    calls, failed = _calls(groups, newest)
    places = {row.sequence: places_in(row) for row in failed}
    quotes = {row.sequence: _quotes(row) for row in failed if places[row.sequence]}
    found: defaultdict[int, set[int]] = defaultdict(set)
    for group in reversed(calls if any(quotes.values()) else []):
        for row in group.rows[1:]:
            if row.failed:
                continue
            paths = paths_of(group, row)
            wanted = [at for at in quotes if quotes[at] and named_places(places[at], paths)]
            lines = _lines_of(row.readable) if wanted else {}
            for at in wanted:
                seen = quotes[at].intersection(lines)
                quotes[at] -= seen
                found[row.sequence].update(lines[one] for one in seen)
    return {
        at: frozenset(lines) for at, lines in found.items() if 0 < len(lines) <= MAX_POINTED_LINES
    }


def _calls(groups: Sequence[Group], newest: int) -> tuple[list[Group], list[ItemRow]]:
    """The latest calls, in order, and the failed results of the `newest` of them."""
    calls = [group for group in groups if group.is_call][-LOOK_BACK:]
    return calls, [row for group in calls[-newest:] for row in group.rows[1:] if row.failed]


def paths_of(group: Group, row: ItemRow) -> frozenset[tuple[str, ...]]:
    """The paths that a call or the beginning of its result names."""
    return paths_in(group.rows[0].whole[:_CALL]) | paths_in(row.readable[:_HEADER])


def _quotes(row: ItemRow) -> set[str]:
    """The lines of a failure that may quote code, without numbers before them."""
    found = (_QUOTE.match(line) for line in row.whole[:_READ].splitlines())
    quoted = (one[1].rstrip() for one in found if one is not None)
    return {one for one in quoted if len(one) >= _MIN_QUOTED}


def _lines_of(text: str) -> dict[str, int]:
    """Where each line of a text begins that stands there once, without its indentation."""
    found: dict[str, int] = {}
    start = 0
    for line in text.splitlines(keepends=True):
        told = line.strip()
        found[told] = -1 if told in found else start
        start += len(line)
    return {line: start for line, start in found.items() if start >= 0}


def parts_with(leaves: Sequence[Part], places: frozenset[int]) -> frozenset[int]:
    """The numbers of the leaves in which these characters are."""
    starts = [part.start for part in leaves]
    return frozenset(max(bisect_right(starts, at) - 1, 0) for at in places)


def parts_at(text: str, leaves: Sequence[Part], lines: frozenset[int]) -> frozenset[int]:
    """The numbers of the leaves that have one of these numbered lines."""
    return frozenset(
        number
        for number, part in enumerate(leaves)
        if any(int(one) in lines for one in LINE_NUMBER.findall(text[part.start : part.end]))
    )


Place = tuple[tuple[str, ...], int]
"""The names in a path, the last first, and the number of a line."""


def places_in(row: ItemRow) -> frozenset[Place]:
    """The places that a result names."""
    return _places(row.whole[:_READ])


_REMEMBERED_PLACES = 64
"""Results of which the places are cached: a compile needs those of a failure several times."""


@lru_cache(maxsize=_REMEMBERED_PLACES)
def _places(text: str) -> frozenset[Place]:
    return frozenset(_found_places(text))


def _found_places(text: str) -> Iterator[Place]:
    for found in islice(_PLACE.finditer(text), _MAX_PLACES):
        if path := _path(found[1]):
            yield path, int(found[2])
    for found in islice(_LISTED.finditer(text) if "lines" in text else (), _MAX_PLACES):
        if path := _path(found[1]):
            yield from ((path, int(number)) for number in _NUMBERS.findall(found[2]))


_REMEMBERED = 1_024
"""Texts of which the paths are cached: each compile needs those of the newest calls again, and
those without a path take hardly any room."""


@lru_cache(maxsize=_REMEMBERED)
def paths_in(text: str) -> frozenset[tuple[str, ...]]:
    """The paths in a text, each as its names, the last first."""
    return frozenset(filter(None, map(_path, _PATH.findall(text))))


def _path(written: str) -> tuple[str, ...]:
    """The last names in a path, the very last first; empty for a word that is no path."""
    if "." not in written and "/" not in written:
        return ()
    names = written.replace("\\", "/").split("/")
    told = (name for name in reversed(names) if name not in ("", ".", ".."))
    return tuple(islice(told, _MAX_NAMES))


def named_places(wanted: Collection[Place], paths: Collection[tuple[str, ...]]) -> set[Place]:
    """The places in files that these paths may name; either path may begin at a higher folder.
    Paths are looked up, not compared with each place: a call may list hundreds of files."""
    lengths = {len(path) for path, _ in wanted}
    begun = {path[:length] for path in paths for length in lengths}

    def is_named(path: tuple[str, ...]) -> bool:
        return path in begun or any(path[:length] in paths for length in range(1, len(path)))

    return {place for place in wanted if is_named(place[0])}
