"""Records that are written as groups of lines between blank ones (mails, sections of an INI file,
hosts, advisories): the values of their keys, each record by its first lines, those that differ from
the others first, and what stands before and after them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from weft.firewall.columns import Column, columns, outlier_records
from weft.firewall.summarise.budget import Budget, Piece, compose, cut_line, line_cap

_MIN_RECORDS = 5
"""With fewer records, a text is told by its lines."""
_SHARE = 0.6
"""The records have at least this share of the lines."""
_LINE = 160
"""Characters of a line that are shown."""
_OUTLIERS = 12
"""How many records are shown because they differ from the others."""
_SHORT = 4
"""Lines of a record that is shown whole, and most lines that identify a longer one."""
_LOOK = 12
"""How many lines of a record are read for its keys."""
_MAX_RECORDS = 2_000
_AFTER = 6
"""How many groups after the records are shown by their first lines."""
_COMPARED = 400
"""Characters of a line that are looked at."""
_HEADINGS = 3
"""A text with so many headings of Markdown is divided by these."""
_STATEMENTS = 0.3
"""Share of the tokens for statements about keys."""
_KEY = re.compile(r"\s*([A-Za-z][\w .-]{0,40}?)\s?[:=]\s+(\S.*)")
_ENDS = (".", "!", "?")
_BEGINS = re.compile(r"\W{0,3}[^\W\d]*")


class Stanzas(msgspec.Struct, frozen=True):
    """The filled lines of a text, and where its records begin."""

    lines: list[str]
    starts: list[int]
    """The first line of each record; the last entry is the end of the last one."""
    groups: list[int]
    """The lines that stand after a blank one."""


def stanzas_of(text: str) -> Stanzas | None:
    """The records of a text; None if it is not made of such. Each begins with a line after a blank
    one that resembles the first line of the others, or whose second line does. Linear."""
    breaks = text.count("\n\n") + (text.count("\n\r\n") if "\r" in text else 0)
    # A record has a line break that is in no blank line.
    if min(breaks, text.count("\n") - 2 * breaks) < _MIN_RECORDS:
        return None
    lines: list[str] = []
    groups: list[int] = []
    is_after_blank = True
    for line in text.splitlines():
        if not line.strip():
            is_after_blank = True
            continue
        if is_after_blank:
            groups.append(len(lines))
        is_after_blank = False
        lines.append(line)
    headings = sum(line.startswith("#") for line in (lines[at] for at in groups))
    if len(groups) <= _MIN_RECORDS or headings >= _HEADINGS:
        return None
    for offset in (0, 1):
        starts = _starts(lines, groups, offset)
        if starts:
            return Stanzas(lines, starts, groups)
    return None


def _starts(lines: Sequence[str], groups: Sequence[int], offset: int) -> list[int]:
    ends = [*groups[1:], len(lines)]
    held = [(start, end) for start, end in zip(groups, ends, strict=True) if end - start > 1]
    keys = [_beginning(lines[start + offset]) for start, _ in held]
    counts = Counter(keys)
    often = next(
        (key for key in keys if key and counts[key] >= max(_MIN_RECORDS, len(held) / 2)), None
    )
    if often is None:
        return []
    starts = [start for (start, _), key in zip(held, keys, strict=True) if key == often]
    if 2 * sum(lines[start].rstrip().endswith(_ENDS) for start in starts) > len(starts):
        return []  # paragraphs, each of them beginning with a sentence
    # A group that begins otherwise belongs to the record before it, but not what follows the last.
    last = next(end for start, end in held if start == starts[-1])
    if counts[often] < 0.9 * len(held):
        usual = max(1, (starts[-1] - starts[0]) // (len(starts) - 1))
        last = max([last, *(end for end in ends if end <= starts[-1] + usual)])
    inside = last - starts[0]
    is_most = inside >= _SHARE * len(lines) and inside >= 2 * len(starts)
    return [*starts, last] if is_most else []


def _beginning(line: str) -> str:
    """The signs and the first word of a line; of a heading in brackets, the bracket."""
    begins = _BEGINS.match(line[:_COMPARED])
    return "[" if line.startswith("[") or begins is None else begins[0]


def summarise_stanzas(found: Stanzas, budget: Budget) -> str:
    """Number of records, their keys with few values, then records in their order."""
    lines, starts = found.lines, found.starts
    spans = list(pairwise(starts))
    record_columns = columns(
        [_fields(lines[start : min(end, start + _LOOK)]) for start, end in spans]
    )
    outliers = {
        index: rank for rank, index in enumerate(outlier_records(record_columns, _OUTLIERS))
    }
    head = [f"{len(spans)} records in {len(lines)} lines"]
    room = int(budget.limit * _STATEMENTS) - budget.count(head[0])
    for line in map(_described, sorted(record_columns, key=lambda one: not one.outliers)):
        room -= budget.count(line) + 1 if line else 0
        if line and room >= 0:
            head.append(line)
    cap = line_cap(len(lines), budget, _LINE)
    pieces = [Piece(-1, 100, "\n".join(head), 0)]
    pieces += _surrounding_pieces(found, cap)
    for index, (start, end) in enumerate(spans[:_MAX_RECORDS]):
        worth = 80 - index * 0.05 if index else 90.0
        if index in outliers:
            worth = 95.0 - outliers[index] * 0.1
        identity = (
            _identity(lines, start, end) if index not in outliers else min(end, start + _LOOK)
        )
        shown = "\n".join(cut_line(line, cap) for line in lines[start:identity])
        pieces.append(Piece(start, worth, shown, identity - start))
        rest = range(identity, min(end, start + _LOOK))
        pieces += [Piece(at, worth - 40, cut_line(lines[at], cap)) for at in rest]
    return compose(pieces, budget, "lines", len(lines))


def _surrounding_pieces(found: Stanzas, cap: int) -> list[Piece]:
    """What stands before and after the records: titles, and totals, which begin a group."""
    lines, first, last = found.lines, found.starts[0], found.starts[-1]
    begin = [at for at in found.groups if at >= last][:_AFTER]
    chosen = [(at, 85 - at * 0.1) for at in range(min(first, _LOOK))]
    chosen += [(at, 96 - rank * 0.1) for rank, at in enumerate(begin)]
    rest = range(last, min(len(lines), last + 4 * _LOOK))
    chosen += [(at, 60 - (at - last) * 0.1) for at in rest if at not in begin]
    return [Piece(at, worth, cut_line(lines[at], cap)) for at, worth in chosen]


def _fields(lines: Sequence[str]) -> dict[str, str]:
    found = [match.groups() for line in lines if (match := _KEY.match(line[:_COMPARED]))]
    return {key: value.strip() for key, value in found}


def _identity(lines: Sequence[str], start: int, end: int) -> int:
    """The end of the lines that identify the record which begins at `start`: its first one, and the
    keys right below it; all of a short record."""
    if end - start <= _SHORT:
        return end
    at = start + 1
    while at < min(end, start + _SHORT) and _KEY.match(lines[at][:_COMPARED]):
        at += 1
    return at


def _described(one: Column) -> str:
    """The values of a key and their counts; empty if there are many."""
    if one.counts is None:
        return ""
    if one.constant:
        return f"{one.name}: {next(iter(one.counts))} in all"
    return f"{one.name}: " + ", ".join(f"{value} ({n})" for value, n in one.counts.items())
