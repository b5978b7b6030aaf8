"""Stage 7, second half: how much of an order of additions fits, counted on what is really sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from weft.compiler.closure import Group
from weft.compiler.forms import Form, Shape
from weft.compiler.packing import Addition

Forms = dict[int, Form]
"""What is shown, by sequence."""
Size = Callable[[Mapping[int, Form]], int]
"""Tokens of the prompt, or of the longest provider's messages where that is more."""

CLOSE = 0.985
"""Share of the budget from which a fit is good enough."""
GUESSES = 6
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

    def forms(chosen: Sequence[Addition]) -> Forms:
        return {**base, **_choose(chosen, shapes)}

    taken = _longest(additions, lambda count: size(forms(additions[:count])), budget)
    chosen = list(additions[:taken])
    room = budget - size(forms(chosen))
    tried = 0
    for addition in additions[taken:]:
        if room < LEAST_ROOM or tried == FILLS:
            break
        if addition.tokens > room:
            continue
        tried += 1
        used = size(forms([*chosen, addition]))
        if used <= budget:
            chosen.append(addition)
            room = budget - used
    return forms(chosen) if size(forms(chosen)) <= budget else dict(base)


def _longest(additions: Sequence[Addition], size: Callable[[int], int], budget: int) -> int:
    """How many of the additions fit: guesses by the estimates' error first, then bisection."""
    estimates = [0.0]
    for addition in additions:
        estimates.append(estimates[-1] + addition.tokens)
    low, high = 0, len(additions)
    scale = 1.0
    guesses = 0
    while low < high:
        if guesses < GUESSES:
            guess = _place(estimates, budget * scale)
        else:
            guess = (low + high + 1) // 2
        guess = min(max(guess, low + 1), high)
        guesses += 1
        used = size(guess)
        if used <= budget:
            low = guess
            if used >= CLOSE * budget:
                break
        else:
            high = guess - 1
        if used:
            scale = estimates[guess] / used
    return low


def _place(estimates: Sequence[float], target: float) -> int:
    low, high = 0, len(estimates) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if estimates[middle] <= target:
            low = middle
        else:
            high = middle - 1
    return low


def _choose(additions: Sequence[Addition], shapes: Mapping[int, Shape]) -> Forms:
    groups: dict[int, Group] = {}
    chosen: dict[int, set[int]] = {}
    for addition in additions:
        groups[addition.group.key] = addition.group
        chosen.setdefault(addition.sequence, set()).add(addition.part)
    return {
        row.sequence: shapes[row.sequence].choose(chosen.get(row.sequence, ()))
        for group in groups.values()
        for row in group.rows
    }
