"""Finds the lines that differ from all others where most say the same with other values: the one
row that was refused, and the closing line, of what an import, a check or an installer prints. Also
those at which lines leave their order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from weft.passages.error_lines import VARIABLE, WARNING
from weft.passages.outliers import MIN_COMPARED, rare_groups
from weft.passages.ruled import is_rule
from weft.passages.sequence_breaks import MAX_COMPARED, uneven_steps

_VALUE = re.compile(r"(?<==)\S+|'[^'\n]{0,80}'|\"[^\"\n]{0,80}\"|(?<!\S)\S*\d\S*")
"""The parts in which lines that say the same differ."""
_SAME = 0.6
"""The share of the lines that say the same, at least."""
_MAX_OUTLIERS, _ROOM, _MAX_LENGTH = 4, 480, 240
"""Most odd lines, and the characters of all of them and of one."""
_COMPARED = 200
"""Characters of a line that are compared."""
_MAX_WORDS = 40
"""A line with more words is no row."""
_OTHERS = 4
"""How many lines with a level a log has at least for each that warns."""
_SAMPLED = 200
"""About how many lines of a long text are compared first: most texts have no usual form."""


def outlier_lines(lines: Sequence[str]) -> frozenset[int]:
    """The numbers of the odd lines, and of those at which lines leave their order; none if there
    are more than a few, or if lines have no form in common, be it only the bars between their
    cells or the number of their words."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    if len(filled) < MIN_COMPARED:
        return frozenset()
    odd = _odd_lines(lines, filled)
    return _within_room(lines, [*_breaks(lines, filled), *odd][-_MAX_OUTLIERS:])


def _odd_lines(lines: Sequence[str], filled: Sequence[int]) -> list[int]:
    step = len(filled) // _SAMPLED
    if step > 1 and not _usual_form(Counter(form_of(lines[at]) for at in filled[::step])):
        return _with_rare_cells(lines, filled)
    forms = [form_of(lines[at]) for at in filled]
    counts = Counter(forms)
    usual = _usual_form(counts)
    if not usual:
        return _with_rare_cells(lines, filled)
    odd = [at for at, form in zip(filled, forms, strict=True) if counts[form] == 1]
    odd = [at for at in odd if at != filled[0]]  # a heading, `total 12`
    same = [at for at, form in zip(filled, forms, strict=True) if form == usual]
    rare = rare_groups([lines[at].split() for at in same], 1)
    odd += [same[at] for group in rare for at in group]
    return odd if len(odd) <= _MAX_OUTLIERS else []


def _breaks(lines: Sequence[str], filled: Sequence[int]) -> list[int]:
    """The numbers of the lines at which those with as many words as most leave their order."""
    words = [lines[at].split() for at in filled[:MAX_COMPARED]]
    ((usual, count),) = Counter(map(len, words)).most_common(1)
    if usual > _MAX_WORDS or count < _SAME * len(filled):
        return []
    same = [at for at, held in enumerate(words) if len(held) == usual]
    columns = list(zip(*(words[at] for at in same), strict=True))
    return [filled[same[at]] for at in uneven_steps(columns)]


def _usual_form(counts: Counter[str]) -> str:
    """The form of most lines, with values in it; empty if there is none."""
    form, count = counts.most_common(1)[0]
    return form if "#" in form and count >= _SAME * counts.total() else ""


def rare_warnings(lines: Sequence[str], levels: Sequence[str]) -> frozenset[int]:
    """The numbers of the lines with a level that warns, where hardly another line has it. `levels`
    are those of the lines, empty for none."""
    levelled = [(at, level) for at, level in enumerate(levels) if level]
    rare = rare_groups([(level,) for _, level in levelled], _MAX_OUTLIERS)
    found = sorted(levelled[at] for group in rare for at in group)
    return _within_room(lines, [at for at, level in found if level in WARNING])


def first_warnings(lines: Sequence[str], levels: Sequence[str]) -> frozenset[int]:
    """The numbers of the lines with a level that warns, the first of each kind; none if more than a
    quarter of the lines with a level warn."""
    warned = [at for at, level in enumerate(levels) if level in WARNING]
    if len(warned) > sum(map(bool, levels)) // _OTHERS:
        return frozenset()
    first: dict[str, int] = {}
    for at in warned:
        first.setdefault(VARIABLE.sub("#", lines[at]), at)
    return frozenset(at for at in first.values() if len(lines[at]) <= _MAX_LENGTH)


def form_of(line: str) -> str:
    """The form of a line: its text without its values."""
    return _VALUE.sub("#", line[:_COMPARED].strip())


def _with_rare_cells(lines: Sequence[str], filled: Sequence[int]) -> list[int]:
    """The numbers of the lines between whose bars stands what hardly another has: `DENY` among `ok`
    and `skip`, in `15:57:12 opa | DENY rule=7`. None if there are more than a few, or in a table
    with a rule, whose rows stay under its header."""
    if any(is_rule(lines[at]) for at in filled):
        return []
    bars = Counter(lines[at].count("|") for at in filled)
    usual, most = bars.most_common(1)[0]
    if not usual or most < _SAME * len(filled):
        return []
    barred = [at for at in filled if lines[at].count("|") >= usual]
    rare = rare_groups([_begun(lines[at].split("|", usual)) for at in barred], _MAX_OUTLIERS + 1)
    odd = sorted(barred[at] for group in rare for at in group if barred[at] != filled[0])
    return odd if len(odd) <= _MAX_OUTLIERS else []


def _begun(cells: Sequence[str]) -> list[str]:
    """The first word of each cell, and the last of the first one, which may begin with a time."""
    words = [cell.split() or [""] for cell in cells]
    return [words[0][-1], *(held[0] for held in words)]


def _within_room(lines: Sequence[str], odd: Sequence[int]) -> frozenset[int]:
    taken: set[int] = set()
    room = _ROOM
    for at in reversed(odd):
        if len(lines[at]) <= min(room, _MAX_LENGTH):
            taken.add(at)
            room -= len(lines[at])
    return frozenset(taken)
