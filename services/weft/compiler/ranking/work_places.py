"""The lines of viewed files at which an agent works: those at which it opens a file, those that it
writes, and those that a search has found. It checks or changes the code there next."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, pairwise

from weft.call_text import call_arguments
from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import MAX_POINTED_LINES, WORKING
from weft.compiler.ranking.places import LINE_NUMBER, Place, named_places, paths_of, places_in
from weft.leaves import leaves
from weft.readmodel.rows import ItemRow
from weft_schemas.items import ItemKind

_MAX_VALUES = 16
"""Values of a call that are read: a bound of work."""
_NAMED = re.compile(r"(?<![\w./$%#-])\d{1,6}(?![\w.%])")
"""The number of a line in an argument; not an option (`-30`), nor a part of a version."""
_NAMING = 200
"""Characters of the first line of an argument in which numbers are read: `edit 287:295`."""
_MIN_WRITTEN = 12
"""Characters of a line by which it is found again; shorter ones may stand anywhere."""
_MAX_COPIES = 2
"""Most places of a written line: a refused edit is shown beside the original."""
_MAX_LINES = 64
"""Lines of a written text that are looked for: a bound of work."""
_MIN_LINES = 2
"""Lines of a written text that tell a view from a report that quotes one."""
_MOST = 0.8
"""A text with this share of a view's lines is all of it, and no place in it."""
_READ = 400_000
"""Characters of a view in which lines are looked for: a bound of work."""
_REMEMBERED = 64
"""Views of which the numbers are cached, and written texts of which the lines are."""


def work_places(groups: Sequence[Group]) -> Mapping[int, Mapping[int, int]]:
    """By sequence of a result, where the lines begin at which the agent works, in characters of its
    readable text, each with the number of newer such places. What a call names is looked for in its
    own result, what it has written or found also in what was read since. `groups` are in order."""
    found: dict[int, Mapping[int, int]] = {}
    told = _told_by_user(groups)
    written: list[str] = []
    for group in [group for group in groups if group.is_call][-WORKING:]:
        call = group.rows[0]
        values = given_values(call)
        written += [value for value in values if isinstance(value, str) and telling_lines(value)]
        for row in group.rows[1:]:
            text = row.readable[:_READ]
            view = _numbered(text)
            at_work = [
                _few(_inside(view, _named_lines(values))),
                *(set(_written_places(value, view, text)) for value in reversed(written)),
                _few(_inside(view, _lines_at(told, group, row))),
            ]
            found[row.sequence] = _with_newer(at_work)
        told.update(*(places_in(row) for row in group.rows[1:] if not row.failed))
    return {at: places for at, places in found.items() if places}


def _with_newer(at_work: Iterable[set[int]]) -> Mapping[int, int]:
    """Each of these places, the newest first, with the number of those before it."""
    some = list(filter(None, at_work))
    return {at: newer for newer, places in reversed(list(enumerate(some))) for at in places}


def _told_by_user(groups: Sequence[Group]) -> set[Place]:
    """The places that the latest user turn names."""
    users = [group.rows[0] for group in groups if group.rows[0].kind is ItemKind.USER_TURN]
    return set(places_in(users[-1])) if users else set()


def _lines_at(told: set[Place], group: Group, row: ItemRow) -> set[int]:
    return {line for _, line in named_places(told, paths_of(group, row))} if told else set()


def given_values(call: ItemRow) -> list[int | str]:
    """The first strings and whole numbers in a call's arguments."""
    held = (value for _, value in leaves(call_arguments(call.text, call.metadata)))
    return list(islice((one for one in held if isinstance(one, int | str)), _MAX_VALUES))


def _named_lines(values: Iterable[int | str]) -> Iterator[int]:
    for value in values:
        if isinstance(value, int):
            yield value
        else:
            yield from map(int, _NAMED.findall(value[:_NAMING].partition("\n")[0]))


def _inside(views: Mapping[int, Sequence[int]], lines: Iterable[int]) -> set[int]:
    """Where these lines of a view begin; without its first and its last, which only say how far it
    goes."""
    if not views:
        return set()
    ends = (min(views), max(views))
    return {at for line in lines if line not in ends for at in views.get(line, ())}


def _few(places: set[int]) -> set[int]:
    return places if len(places) <= MAX_POINTED_LINES else set()


@lru_cache(maxsize=_REMEMBERED)
def _numbered(text: str) -> Mapping[int, Sequence[int]]:
    """Where the lines of each number begin, if most follow one another: times of a log do not."""
    numbers = [(int(one[1]), one.start()) for one in LINE_NUMBER.finditer(text)]
    follow = sum(after[0] == before[0] + 1 for before, after in pairwise(numbers))
    if 2 * follow < len(numbers):
        return {}
    found: defaultdict[int, list[int]] = defaultdict(list)
    for number, at in numbers:
        found[number].append(at)
    return found


def _written_places(value: str, view: Mapping[int, Sequence[int]], text: str) -> Iterator[int]:
    """Where the first and the last line of a written text stand in a view, of those that stand
    there once, or else in few places. A view without numbers is one if it has several of the lines,
    and all of them: a report may quote one."""
    if 0 < _MOST * text.count("\n") <= value.count("\n"):
        return
    lines = telling_lines(value)
    if not view and (len(lines) < _MIN_LINES or not all(line in text for line in lines)):
        return  # most results
    counts = {line: text.count(line) for line in lines}
    for copies in range(1, _MAX_COPIES + 1):
        found = [line for line, count in counts.items() if count == copies]
        if found:
            yield from _places_of(found[0], text)
            yield from _places_of(found[-1], text)
            return


@lru_cache(maxsize=_REMEMBERED)
def telling_lines(value: str) -> Sequence[str]:
    """The different lines of a written text by which it is found again; a path or a name is
    none."""
    lines = [line for line in map(str.strip, value.splitlines()) if len(line) >= _MIN_WRITTEN]
    return list(dict.fromkeys(line for line in lines[:_MAX_LINES] if " " in line))


def _places_of(line: str, text: str) -> Iterator[int]:
    at = text.find(line)
    while at >= 0:
        yield at
        at = text.find(line, at + 1)
