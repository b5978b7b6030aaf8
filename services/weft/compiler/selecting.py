"""Stages 4 to 7 put together: from the groups that may be shown to the forms that are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import msgspec

from weft.compiler.closure import Group
from weft.compiler.fitting import Forms, fit
from weft.compiler.forms import Form, Shape, whole
from weft.compiler.packing import Addition, Wants, order_parts
from weft.compiler.pinning import Pins, pin
from weft.compiler.sheet import Sheet
from weft.compiler.values import values

CORRECTIONS = 3
"""Fits against the sum of the blocks before one against what is really sent, which is slower."""


class Choice(msgspec.Struct, frozen=True):
    """What there is to choose from, and how."""

    groups: tuple[Group, ...]
    afresh: tuple[Group, ...]
    """Of `groups` those that a compile without a base would choose from."""
    scores: Mapping[int, float]
    pinned: frozenset[int]
    redacted: frozenset[int]
    wants: Wants
    asked: Collection[str]
    sheet: Sheet
    budget: int
    encoding: str
    current: tuple[Group, ...] = ()
    """Results since the latest user turn, newest first: as many stand whole as take"""
    current_share: float = 0.0
    """of the budget."""


class Selected(msgspec.Struct, frozen=True):
    forms: dict[int, Form]
    notes: tuple[str, ...]


def select(choice: Choice) -> Selected:
    """Everything whole where it fits; else the pinned, then the parts worth most."""
    everything = everything_whole(choice)
    if everything is not None:
        return Selected(everything, ())
    pins = pins_of(choice)
    return Selected(select_afresh(choice, pins.forms, choice.groups), pins.notes)


def select_afresh(choice: Choice, pinned: Forms, groups: Sequence[Group]) -> Forms:
    """The pinned, the current results as far as they stand whole, and the parts worth most."""
    return fill(choice, _with_current(pinned, choice), groups, choice.budget)


def everything_whole(choice: Choice) -> Forms | None:
    """All groups, each item whole; null where that does not fit."""
    rows = [row for group in choice.groups for row in group.rows]
    if sum(max(row.tokens, 0) for row in rows) > choice.budget:
        return None
    forms = {row.sequence: whole(row, row.sequence in choice.redacted) for row in rows}
    return forms if choice.sheet.exact(forms) <= choice.budget else None


def pins_of(choice: Choice) -> Pins:
    """What stands in every prompt."""
    rows = [group.rows[0] for group in choice.groups if group.key in choice.pinned]
    sheet, redacted = choice.sheet, choice.redacted
    return pin(rows, redacted, sheet.exact, choice.budget, choice.encoding, sheet.fits)


def fill(choice: Choice, base: Forms, groups: Sequence[Group], budget: int) -> Forms:
    """`base` and the parts of `groups` worth most beside it, within `budget`."""
    sheet = choice.sheet
    stated = Counter(value for form in base.values() for value in values(form.text))
    rest = [
        group
        for group in groups
        if group.key not in choice.pinned and group.rows[0].sequence not in base
    ]
    additions, shapes = order_parts(
        rest,
        choice.scores,
        choice.redacted,
        choice.wants,
        choice.asked,
        stated,
        budget - sheet.size(base),
    )
    return fit_exactly(sheet, additions, shapes, base, budget)


def fit_exactly(
    sheet: Sheet,
    additions: Sequence[Addition],
    shapes: Mapping[int, Shape],
    base: Forms,
    budget: int,
) -> Forms:
    """As `fit`, within the budget by what is really sent."""
    target = budget
    for _ in range(CORRECTIONS):
        forms = fit(additions, shapes, base, sheet.size, target)
        over = sheet.exact(forms) - budget
        if over <= 0:
            return forms
        target -= over
    return fit(additions, shapes, base, sheet.exact, budget)


def _with_current(pinned: Forms, choice: Choice) -> Forms:
    """The pinned, and of the current results as many whole as their share takes."""
    sheet = choice.sheet
    if not choice.current:
        return dict(pinned)
    limit = min(choice.budget, sheet.exact(pinned) + int(choice.budget * choice.current_share))
    forms, taken = dict(pinned), []
    for group in choice.current:
        more = {row.sequence: whole(row, row.sequence in choice.redacted) for row in group.rows}
        if sheet.size({**forms, **more}) <= limit:
            forms.update(more)
            taken.append(more)
    # The sum of the blocks is only close to what is sent.
    while taken and sheet.exact(forms) > limit:
        for sequence in taken.pop():
            del forms[sequence]
    return forms
