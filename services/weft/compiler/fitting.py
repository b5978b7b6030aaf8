"""Stage 7, second half: how much of an order of additions fits, counted on what is really sent."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

from weft.compiler.forms import Form, Shape
from weft.compiler.packing import Addition

Forms = dict[int, Form]
"""What is shown, by sequence."""
Size = Callable[[Mapping[int, Form]], int]
"""Tokens of the prompt, or of the longest provider's messages where that is more."""

CLOSE = 0.985
"""Share of the budget from which a fit is good enough."""
GUESSES = 4
"""Guesses by proportion before bisection takes over."""
FILLS = 8
"""Later additions that are tried in what is left."""
LEAST_ROOM = 8
"""Tokens: in less, nothing fits."""


def fit(
    additions: Sequence[Addition],
    shapes: Mapping[int, Shape],
    base: Mapping[int, Form],
    size: Size,
    budget: int,
) -> Forms:
    """The longest run of additions that fits beside `base`, then later ones that still fit."""
    order = _Order(additions, shapes)
    taken, used = _longest(additions, lambda count: size({**base, **order.forms(count)}), budget)
    forms = {**base, **order.forms(taken)}
    room = budget - used
    if room < 0:
        return dict(base)
    tried = 0
    for addition in additions[taken:]:
        if room < LEAST_ROOM or tried == FILLS:
            break
        if addition.tokens <= room and addition.sequence not in forms:
            tried += 1
            more = {**forms, **_alone(addition, shapes)}
            used = size(more)
            if used <= budget:
                forms, room = more, budget - used
    return forms


class _Order:
    """What each prefix of the additions shows. A row's form depends only on how many of its parts
    the prefix holds, so each is made once."""

    def __init__(self, additions: Sequence[Addition], shapes: Mapping[int, Shape]) -> None:
        self._additions = additions
        self._shapes = shapes
        self._made: dict[tuple[int, int], Form] = {}

    def forms(self, count: int) -> Forms:
        parts: dict[int, list[int]] = {}
        for addition in self._additions[:count]:
            if addition.sequence in parts:
                parts[addition.sequence].append(addition.part)
            else:
                for row in addition.group.rows:
                    parts.setdefault(row.sequence, [])
                parts[addition.sequence].append(addition.part)
        return {sequence: self._form(sequence, chosen) for sequence, chosen in parts.items()}

    def _form(self, sequence: int, chosen: list[int]) -> Form:
        key = (sequence, len(chosen))
        form = self._made.get(key)
        if form is None:
            form = self._made[key] = self._shapes[sequence].choose(frozenset(chosen))
        return form


def _alone(addition: Addition, shapes: Mapping[int, Shape]) -> Forms:
    """The addition's group with this one part."""
    return {
        row.sequence: shapes[row.sequence].choose(
            frozenset({addition.part} if row.sequence == addition.sequence else ())
        )
        for row in addition.group.rows
    }


def _longest(
    additions: Sequence[Addition], size: Callable[[int], int], budget: int
) -> tuple[int, int]:
    """How many of the additions fit, and the size of so many: guesses by proportion between what
    fits and what does not, then bisection."""
    estimates = [0.0, *accumulate(addition.tokens for addition in additions)]
    low, below = 0, size(0)
    high, above = len(additions), 0
    guesses = 0
    while low < high:
        guess = (low + high + 1) // 2
        if guesses < GUESSES:
            share = (budget - below) / (above - below) if above else 1.0
            span = estimates[high + 1] - estimates[low] if above else budget - below
            guess = bisect_right(estimates, estimates[low] + share * span) - 1
        guess = min(max(guess, low + 1), high)
        guesses += 1
        used = size(guess)
        if used > budget:
            high, above = guess - 1, used
        else:
            low, below = guess, used
            if used >= CLOSE * budget:
                break
    return low, below
