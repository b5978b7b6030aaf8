"""The open exchange: the results since the latest user turn, newest first (promise 8).

An agent may make hundreds of calls after one user turn. So runs of results that fit are found by
bisection: what is sent is counted a few times for a run, and not once for each result.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import COUNTED_TO, CUT_SHARE, EXCHANGE_SHARE, TOLD_SHARE
from weft.compiler.rendering.cost import Shown
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.fill import fill

SAVED = 32
"""Most tokens by which one more exchange makes the rest of a prompt shorter: the mark of a gap that
it closes, and a message that it joins."""


def with_exchange(choice: Choice, pinned: Shown) -> Shown:
    """The pinned items and the open exchange. Of the results since the latest user turn, newest
    first, half of the budget is filled with whole ones, and with the best parts of the first that
    does not fit. The other calls are listed with their outcome, so that they are not made again."""
    shown, cost = _told(choice, pinned, choice.budget, is_answered=False), choice.cost
    limit = min(choice.budget, cost.exact(shown) + int(choice.budget * EXCHANGE_SHARE))
    rest = [group for group in choice.exchange if group.key not in shown]
    wholes = {group.key: _whole(choice, group) for group in rest if _may_fit(choice, group, limit)}
    is_cut = False
    while rest:
        run = _run(choice, rest, wholes, shown, limit)
        for group in rest[:run]:
            shown.update(wholes[group.key])
        if run == len(rest):
            break
        group, rest = rest[run], rest[run + 1 :]
        compact = _compact(choice, group) if group.key in wholes else None
        if compact is not None and cost.fits({**shown, **compact}, limit):
            shown.update(compact)
        elif not is_cut:
            room = limit - cost.exact(shown)
            shown, is_cut = fill(choice, shown, [group], limit - int(room * (1 - CUT_SHARE))), True
        if is_cut:
            room = limit - cost.exact(shown) + SAVED
            rest = [one for one in rest if one.key in wholes and _least(choice, one) <= room]
    return _told(choice, shown, min(choice.budget, limit + int(choice.budget * TOLD_SHARE)))


def _may_fit(choice: Choice, group: Group, limit: int) -> bool:
    """Counts of large results are close: what is far too large is not counted again."""
    shapes = [choice.shapes[row.sequence] for row in group.rows]
    tokens = sum(max(shape.row.whole_tokens, 0) for shape in shapes if shape.fixed is None)
    return tokens <= limit * COUNTED_TO


def _run(
    choice: Choice, groups: Sequence[Group], wholes: Mapping[int, Shown], shown: Shown, limit: int
) -> int:
    """How many of the groups, from the first on, fit whole beside `shown`."""
    large = (number for number, group in enumerate(groups) if group.key not in wholes)
    most = next(large, len(groups))

    def with_first(count: int) -> Shown:
        return _joined(shown, [wholes[group.key] for group in groups[:count]])

    guess = _longest(most, lambda count: choice.cost.size(with_first(count)), limit)
    return _nearest(most, lambda count: choice.cost.fits(with_first(count), limit), guess)


def _longest(most: int, size: Callable[[int], int], limit: int) -> int:
    """The greatest count up to `most` whose size, which rises with it, is within the limit."""
    return bisect_right(range(1, most + 1), limit, key=size)


def _nearest(most: int, fits: Callable[[int], bool], guess: int) -> int:
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


def _whole(choice: Choice, group: Group) -> Shown:
    return {row.sequence: choice.shapes[row.sequence].whole() for row in group.rows}


def _compact(choice: Choice, group: Group) -> Shown:
    """All of an exchange in the shortest form."""
    return {row.sequence: choice.shapes[row.sequence].all() for row in group.rows}


def _least(choice: Choice, group: Group) -> int:
    """Tokens that all of an exchange takes at least."""
    return choice.cost.block_tokens(_compact(choice, group))


def _joined(shown: Shown, more: Sequence[Shown]) -> Shown:
    joined = dict(shown)
    for one in more:
        joined.update(one)
    return joined


def _told(choice: Choice, shown: Shown, limit: int, is_answered: bool = True) -> Shown:
    """What is shown and, newest first, the calls of the open exchange with a line about their
    results; or those that have none."""
    stubs = [
        {row.sequence: choice.shapes[row.sequence].choose(()) for row in group.rows}
        for group in choice.exchange
        if group.key not in shown and (len(group.rows) > 1) == is_answered
    ]
    size, exact = choice.cost.size, choice.cost.exact
    count = _longest(len(stubs), lambda count: size(_joined(shown, stubs[:count])), limit)
    # Sizes of messages are only approximate.
    fits = _nearest(
        count, lambda count: exact(_joined(shown, stubs[:count])) <= choice.budget, count
    )
    return _joined(shown, stubs[:fits])
