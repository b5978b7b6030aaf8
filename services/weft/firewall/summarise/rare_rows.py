"""Rows of a table that differ from the others: as many as fit in their share stand there whole, and
the names of the others behind the value that distinguishes them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise

from weft.firewall.columns import NAMING, Column
from weft.firewall.summarise.budget import Budget

_SHARE = 0.35
"""Share of the tokens for whole rows. It does not depend on how many rows differ: a further one
never shows less."""
_MARK = 6
"""About how many tokens the mark of a gap costs."""

Groups = set[tuple[int, ...]]
"""Rows with the same rare value."""


def whole_rows(outliers: Sequence[int], row: Callable[[int], str], budget: Budget) -> list[int]:
    """The first of these rows, as far as there is room for them."""
    room = int(budget.limit * _SHARE)
    whole: list[int] = []
    for index in outliers:
        room -= budget.count(row(index)) + _MARK
        if room < 0:
            break
        whole.append(index)
    return whole


def naming_column(columns: Sequence[Column]) -> int | None:
    """The place of the column that names the rows best; None if none does."""
    best = max(range(len(columns)), key=lambda at: columns[at].identifying, default=None)
    return None if best is None or columns[best].identifying < NAMING else best


def with_names(
    lines: Mapping[int, str],
    columns: Sequence[Column],
    whole: Sequence[int],
    line: Callable[[int, Groups, int], str],
    room: int,
    budget: Budget,
) -> dict[int, str]:
    """The statements about columns, by place, with as many names as fit in `room` more tokens.
    `line` makes a statement of a place, the groups of rows that need no names there (all of them
    are in `whole`, or another column names them), and how many rows it may name for each value."""
    told = {group for one in columns for group in one.outliers if {*group} <= {*whole}}
    named = dict(lines)
    for at in lines:
        groups = set(columns[at].outliers) - told
        if not groups:
            continue
        limit = budget.count(lines[at]) + room
        longer = _longest(groups, partial(line, at, told), limit, budget)
        if longer not in ("", lines[at]):  # else so few names say nothing
            room = limit - budget.count(longer)
            named[at] = longer
            told |= groups
    return named


def _longest(groups: Groups, text: Callable[[int], str], limit: int, budget: Budget) -> str:
    """The text with as many names of each group as fit; empty if none do. A further name costs
    more, unless it is the last of its group: no mark of others follows then. So that is tried
    first, and fewer by halving."""

    def cost(most: int) -> int:
        return budget.count(text(most))

    for low, high in reversed([*pairwise([0, *sorted({*map(len, groups)})])]):
        if cost(high) <= limit:
            return text(high)
        if fitting := bisect_right(range(low + 1, high), limit, key=cost):
            return text(low + fitting)
    return ""
