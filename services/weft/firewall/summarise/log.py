"""A log as its levels with counts, the first and the last line, every distinct error once with the
number of similar lines, and one of the other lines for each template. If a line
has a rare value in a field that has few values, it is shown apart from its template."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from operator import attrgetter

import msgspec

from weft.firewall.summarise.budget import Budget, Piece, compose, cut_line, line_cap
from weft.passages.error_lines import VARIABLE, level_of, tells_error
from weft.passages.outliers import MIN_COMPARED, rare_groups

_LINE = 220
"""Characters of a line that are shown."""
_ERROR_LINE = 600
"""Characters of an error, or of a line with a rare value, that are shown."""
_COMPARED = 400
"""Characters of a line that are compared."""
_DIGITS = b"0123456789"
_TEMPLATES = 3_000
"""With more templates than this, a log repeats nothing, and folding is given up."""
_OUTLIERS = 8
"""How many rare values are told apart among lines of one template."""
_APART: dict[int, int | None] = dict.fromkeys(map(ord, ",;=()[]{}|<>\"'"), ord(" "))


class SimilarLines(msgspec.Struct):
    """Lines that differ only in numbers and quoted parts."""

    first: int
    count: int
    line: str
    level: str
    tells_error: bool
    rare: bool
    """Whether they have a value in common that few other lines have."""


def summarise_log(text: str, budget: Budget) -> str:
    lines = [line for line in text.splitlines() if line and not line.isspace()]
    folds = fold(lines)
    levels: Counter[str] = Counter()
    for entry in folds:
        levels[entry.level] += entry.count
    counts = ", ".join(f"{level} {n}" for level, n in sorted(levels.items()) if level)
    cap = line_cap(len(folds), budget, _LINE)
    pieces = [Piece(-1, 100, f"log: {len(lines)} lines" + (f"; {counts}" if counts else ""), 0)]
    last = len(lines) - 1
    for entry in folds:
        if entry.first < last or entry.tells_error or entry.rare:
            pieces.append(Piece(entry.first, _worth(entry, last), _line_text(entry, cap)))
    if lines and pieces[-1].order != last:
        pieces.append(Piece(last, 92, cut_line(lines[-1], cap)))
    return compose(pieces, budget, "lines", len(lines))


def fold(lines: list[str]) -> list[SimilarLines]:
    """Lines by template and rare value, in order of first appearance."""
    groups = _by_template(lines)
    few = [number for group in groups if len(group) < MIN_COMPARED for number in group]
    # Lines of templates that hardly repeat have fields in common, too.
    alone = {numbers[0] for numbers in _rare_groups(lines, sorted(few))}
    found: list[SimilarLines] = []
    for group in groups:
        if len(group) < MIN_COMPARED:
            found.append(_folded(lines, group, not alone.isdisjoint(group)))
            continue
        rare = _rare_groups(lines, group)
        apart = {number for numbers in rare for number in numbers}
        rest = [number for number in group if number not in apart] if apart else group
        found += [_folded(lines, numbers, True) for numbers in rare]
        found.append(_folded(lines, rest, False))
    return sorted(found, key=attrgetter("first"))


def _by_template(lines: list[str]) -> list[list[int]]:
    """The numbers of lines that differ only in numbers and quoted parts."""
    alike: defaultdict[bytes, list[int]] = defaultdict(list)
    # Most lines differ only in digits, which is far cheaper to detect than a template.
    for number, form in enumerate(_without_digits(lines)):
        alike[form].append(number)
    groups: dict[str, list[int]] = {}
    merged: set[str] = set()
    for numbers in alike.values():
        start = lines[numbers[0]][:_COMPARED]
        key = VARIABLE.sub("#", start) if len(groups) < _TEMPLATES else start
        if key in groups:
            groups[key] += numbers
            merged.add(key)
        else:
            groups[key] = numbers
    for key in merged:
        groups[key].sort()
    return list(groups.values())


def _without_digits(lines: Iterable[str]) -> list[bytes]:
    """The compared part of each line. All are translated at once, which takes a tenth of the
    time."""
    held = "\n".join([line[:_COMPARED] for line in lines])
    return held.encode(errors="surrogatepass").translate(None, _DIGITS).split(b"\n")


def _words(lines: Iterable[str]) -> list[list[str]]:
    """The words of the compared part of each line, without the signs around them."""
    held = "\n".join([line[:_COMPARED] for line in lines]).translate(_APART)
    return [*map(str.split, held.split("\n"))]


def _rare_groups(lines: list[str], numbers: list[int]) -> list[list[int]]:
    """For each rare value of a field, the numbers of the lines that have it."""
    if len(numbers) < MIN_COMPARED:
        return []
    cells = _words(map(lines.__getitem__, numbers))
    return [[numbers[index] for index in group] for group in rare_groups(cells, _OUTLIERS)]


def _folded(lines: list[str], numbers: list[int], rare: bool) -> SimilarLines:
    line = lines[numbers[0]]
    level = level_of(line)
    return SimilarLines(numbers[0], len(numbers), line, level, tells_error(line, level), rare)


def _worth(entry: SimilarLines, last: int) -> float:
    if entry.tells_error:
        return 90 - entry.first / (last + 1)
    if entry.rare:
        return 89 - entry.first / (last + 1)
    if entry.first == 0:
        return 88
    if entry.level == "WARN":
        return 70 - entry.first / (last + 1)
    # Unique lines are worth more than repeated ones, late lines more than early ones.
    return 40 + 10 * entry.first / (last + 1) - min(entry.count, 20) * 0.5


def _line_text(entry: SimilarLines, cap: int) -> str:
    line = cut_line(entry.line, max(cap, _ERROR_LINE) if entry.tells_error or entry.rare else cap)
    return line if entry.count == 1 else f"{line}  [{entry.count} lines like this]"
