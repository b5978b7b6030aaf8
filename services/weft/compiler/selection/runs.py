"""Runs of calls that fit. An agent may make hundreds of calls between two user turns, so a run
is found by bisection: what is sent is counted a few times for it, not once for each call.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache

from weft.compiler.rendering.cost import PromptCost, Shown
from weft.compiler.selection.budget import nearest_that_fits

MAX_SAVED = 32
"""Most tokens by which one more call makes the rest of a prompt shorter: the mark of a gap that
it closes, and a message that it joins."""


def fitting_run(cost: PromptCost, with_first: Callable[[int], Shown], most: int, limit: int) -> int:
    """How many of `most` calls, from the first on, fit; `with_first` is what is shown with so
    many of them."""
    size = cache(lambda count: cost.size(with_first(count)))
    guess = greatest_count(most, size, limit)
    if guess:  # what is sent differs from the sum of the blocks
        more = cost.exact(with_first(guess)) - size(guess)
        guess = greatest_count(most, size, limit - more)
    return nearest_that_fits(most, lambda count: cost.fits(with_first(count), limit), guess)


def greatest_count(most: int, size: Callable[[int], int], limit: int) -> int:
    """The greatest count up to `most` whose size, which rises with it, is within the limit."""
    return bisect_right(range(1, most + 1), limit, key=size)


def merged(shown: Shown, more: Sequence[Shown]) -> Shown:
    """`shown` and all of `more` together."""
    found = dict(shown)
    for one in more:
        found.update(one)
    return found
