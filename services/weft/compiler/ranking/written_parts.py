"""What an agent has just written into files and no result states: what they say now. It checks or
changes that next, and an older view of the file says otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import EDIT_CALLS, MAX_EDITS, POINTING
from weft.compiler.ranking.places import named_places, paths_in, places_in
from weft.compiler.ranking.work_places import given_values, telling_lines

_NAMING, _NAMING_LINES = 400, 3
"""Characters and lines at the start of a text that may name a file."""
_FILE = re.compile(r"(?<![\w./\\@+-])[\w./\\@+-]*[\w-]\.[a-z]\w{0,4}(?![\w./\\@+(\[=-])")
"""A file's name with an extension, and its folders if there are any."""
_RESULTS, _READ = 40, 100_000
"""Newest results in which a written text is looked for, and characters of each: a bound of work."""
_REMEMBERED = 1_024
"""Pairs of a result and a written text of which it is cached whether one has the other."""


class _Edit(NamedTuple):
    sequence: int
    """Of the call."""
    parts: Sequence[int]
    paths: frozenset[tuple[str, ...]]


def written_parts(groups: Sequence[Group]) -> Mapping[int, Sequence[int]]:
    """Sequence of a call → the parts of its text that it wrote into a file, in order, of the newest
    such calls. Those whose file the newest failures name come first. `groups` are in order."""
    calls = [group for group in groups if group.is_call]
    edits = list(_edits(calls[-EDIT_CALLS:], _read_texts(calls)))
    failed = [row for group in calls[-POINTING:] for row in group.rows[1:] if row.failed]
    places = {place for row in failed for place in places_in(row)}
    edits.sort(key=lambda one: not named_places(places, one.paths))
    return {one.sequence: one.parts for one in edits[:MAX_EDITS]}


def _edits(calls: Sequence[Group], read: Sequence[str]) -> Iterator[_Edit]:
    """The newest first."""
    for group in reversed(calls):
        call, *results = group.rows
        if not results or any(row.failed for row in results):
            continue
        texts = [value for value in given_values(call) if isinstance(value, str)]
        paths = frozenset(path for text in texts for path in _named_files(text))
        parts = [part for text in texts for part in _parts_of(group, text, read)] if paths else []
        if parts:
            yield _Edit(call.sequence, parts, paths)


def _parts_of(group: Group, text: str, read: Sequence[str]) -> Sequence[int]:
    """The parts of the call in a text that it wrote; none if a result states all lines of it: the
    text that it replaced, or one that is shown there."""
    call = group.rows[0]
    if call.parts is None:
        return ()
    if not telling_lines(text) or any(_states(one, text) for one in read):
        return ()
    at, leaves = call.readable.find(text), call.parts.leaves
    return [number for number, leaf in enumerate(leaves) if 0 <= at <= leaf.start < at + len(text)]


@lru_cache(maxsize=_REMEMBERED)
def _states(read: str, written: str) -> bool:
    """Whether a result has all lines of a written text."""
    return all(line in read for line in telling_lines(written))


def _named_files(text: str) -> Iterator[tuple[str, ...]]:
    """The paths in an argument of one line; in the first lines of another, where a patch or a
    command names its file, those with an extension: `store.take(1)` is none."""
    first = "\n".join(text[:_NAMING].split("\n")[:_NAMING_LINES])
    if "\n" not in text:
        yield from paths_in(first)
    else:
        yield from (path for name in _FILE.findall(first) for path in paths_in(name))


def _read_texts(calls: Sequence[Group]) -> list[str]:
    results = (row for group in reversed(calls) for row in group.rows[1:])
    return [row.readable[:_READ] for row in islice(results, _RESULTS)]
