"""The budget fit: how many of the additions, best first, fit beside what must be shown. Tokens are
counted on the text that is really sent."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

from weft.compiler.profiles import (
    FILL_HORIZON,
    FILL_TRIES,
    GOOD_FIT_SHARE,
    GUESSES,
    MIN_PIN_TOKENS,
    MIN_ROOM,
)
from weft.compiler.rendering.cost import PromptCost, Shown
from weft.compiler.renditions.item_renditions import ItemRenditions
from weft.compiler.renditions.rendition import Rendition, beginning_rendition
from weft.compiler.selection.offers import Addition

CORRECTIONS = 4
"""Fits against the sum of the blocks before one against what is really sent, which is slower."""


def fit_budget(
    cost: PromptCost,
    additions: Sequence[Addition],
    renditions: Mapping[int, ItemRenditions],
    base: Mapping[int, Rendition],
    budget: int,
) -> Shown:
    """The longest run of additions that fits beside `base`, then later ones that still fit, of
    those that a larger budget would soon hold or whose items are shown: an item from far down the
    order would have to leave again. What is really sent never exceeds `budget`, unless `base` alone
    does."""
    order = _Prefixes(additions, renditions)
    best, most = None, -1
    target, fitted, exceeded = budget, 0, 0
    for _ in range(CORRECTIONS):
        shown = _fit(order, base, cost.size, target)
        used = cost.exact(shown)
        if most < used <= budget:
            best, most = shown, used
        if GOOD_FIT_SHARE * budget <= used <= budget:
            break
        if used <= budget:
            fitted = max(fitted, target)
        else:
            exceeded = target
        target += budget - used
        if fitted and exceeded and not fitted < target < exceeded:
            target = (fitted + exceeded) // 2
    return best if best is not None else _fit(order, base, cost.exact, budget)


def _fit(
    order: _Prefixes,
    base: Mapping[int, Rendition],
    size: Callable[[Mapping[int, Rendition]], int],
    budget: int,
) -> Shown:
    additions = order.additions
    taken, used = _longest(order.ends, lambda count: size({**base, **order.shown(count)}), budget)
    shown = {**base, **order.shown(taken)}
    room = budget - used
    if room < 0:
        return dict(base)
    tried = 0
    chosen = order.parts(taken)
    near = bisect_right(order.ends, (order.ends[taken] + room) * FILL_HORIZON) - 1
    for place, addition in enumerate(additions[taken:], taken):
        if room < MIN_ROOM or tried == FILL_TRIES:
            break
        if place >= near and addition.sequence not in shown:
            continue
        if addition.tokens <= room and addition.part not in chosen.get(addition.sequence, ()):
            tried += 1
            more_parts = _with(chosen, addition)
            more = {**shown, **_renditions(addition, more_parts, order.renditions)}
            used = size(more)
            if used <= budget:
                shown, chosen, room = more, more_parts, budget - used
    return shown


def _with(chosen: Mapping[int, list[int]], addition: Addition) -> dict[int, list[int]]:
    more = {sequence: list(parts) for sequence, parts in chosen.items()}
    for row in addition.group.rows:
        more.setdefault(row.sequence, [])
    more[addition.sequence].append(addition.part)
    return more


def _renditions(
    addition: Addition, chosen: Mapping[int, list[int]], renditions: Mapping[int, ItemRenditions]
) -> Shown:
    return {
        row.sequence: renditions[row.sequence].choose(frozenset(chosen[row.sequence]))
        for row in addition.group.rows
    }


def longest_beginning(
    shown: Shown, others: Shown, item_renditions: ItemRenditions, cost: PromptCost, limit: int
) -> Shown | None:
    """`others` with as much of the beginning of an item as fits beside `shown`; None if that is no
    more than is shown of it, or too little to say anything."""
    if item_renditions.fixed is not None or item_renditions.redacted:
        return None
    room = MIN_PIN_TOKENS + limit - cost.size(shown)
    while room > (MIN_PIN_TOKENS if item_renditions.row.sequence in shown else MIN_PIN_TOKENS // 2):
        more = {
            **others,
            item_renditions.row.sequence: beginning_rendition(item_renditions.row, room),
        }
        over = cost.exact({**shown, **more}) - limit
        if over <= 0:
            return more
        room -= max(over, 1)
    return None


def nearest_that_fits(most: int, fits: Callable[[int], bool], guess: int) -> int:
    """The greatest count up to `most` that fits, searched for from a guess outwards; 0 fits."""
    low, high, step, at = 0, most, 1, guess
    while low < high:
        at = min(max(at, low + 1), high)
        if fits(at):
            low, at = at, at + step
        else:
            high, at = at - 1, at - step
        step *= 2
    return low


class _Prefixes:
    """The renditions that each prefix of the additions shows. A row's rendition depends only on how
    many of its parts the prefix holds, so each is made once."""

    def __init__(
        self, additions: Sequence[Addition], renditions: Mapping[int, ItemRenditions]
    ) -> None:
        self.additions = additions
        self.ends = [0.0, *accumulate(addition.tokens for addition in additions)]
        """Estimated tokens of each prefix."""
        self.renditions = renditions
        self._made: dict[tuple[int, int], Rendition] = {}

    def parts(self, count: int) -> dict[int, list[int]]:
        parts: dict[int, list[int]] = {}
        for addition in self.additions[:count]:
            if addition.sequence not in parts:
                for row in addition.group.rows:
                    parts.setdefault(row.sequence, [])
            parts[addition.sequence].append(addition.part)
        return parts

    def shown(self, count: int) -> Shown:
        return {
            sequence: self._rendition(sequence, chosen)
            for sequence, chosen in self.parts(count).items()
        }

    def _rendition(self, sequence: int, chosen: list[int]) -> Rendition:
        key = (sequence, len(chosen))
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = self.renditions[sequence].choose(frozenset(chosen))
        return made


def _longest(
    estimates: Sequence[float], size: Callable[[int], int], budget: int
) -> tuple[int, int]:
    """How many of the additions fit, and the size of so many: guesses by proportion between what
    fits and what does not, then bisection. `estimates` are of the size of each prefix."""
    low, below = 0, size(0)
    high, above = len(estimates) - 1, 0
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
            if used >= GOOD_FIT_SHARE * budget:
                break
    return low, below
