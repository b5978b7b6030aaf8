"""Stages 4 to 7 put together: from the groups that may be shown to the forms that are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import msgspec

from weft.compiler.closure import Group
from weft.compiler.fitting import Forms, fit
from weft.compiler.forms import Form, whole
from weft.compiler.packing import Wants, order_parts
from weft.compiler.pinning import Pins, pin
from weft.compiler.sheet import Sheet
from weft.compiler.values import values

CORRECTIONS = 3
"""Fits against the sum of the blocks before one against what is really sent, which is slower."""


class Selected(msgspec.Struct, frozen=True):
    forms: dict[int, Form]
    notes: tuple[str, ...]


def select(
    groups: Sequence[Group],
    scores: Mapping[int, float],
    pinned: frozenset[int],
    redacted: frozenset[int],
    wants: Wants,
    asked: Collection[str],
    sheet: Sheet,
    budget: int,
    encoding: str,
    current: Sequence[Group] = (),
    current_share: float = 0.0,
) -> Selected:
    """Everything whole where it fits; else the pinned, then the parts worth most.

    Of the `current` groups, newest first, as many stand whole as take `current_share` of the
    budget.
    """
    everything = _everything(groups, redacted, sheet, budget)
    if everything is not None:
        return Selected(everything, ())
    pins = _pins(groups, pinned, redacted, sheet, budget, encoding)
    base = _with_current(pins.forms, current, redacted, sheet, budget, current_share)
    stated = Counter(value for form in base.values() for value in values(form.text))
    rest = [
        group for group in groups if group.key not in pinned and group.rows[0].sequence not in base
    ]
    room = budget - sheet.size(base)
    additions, shapes = order_parts(rest, scores, redacted, wants, asked, stated, room)
    target = budget
    for _ in range(CORRECTIONS):
        forms = fit(additions, shapes, base, sheet.size, target)
        over = sheet.exact(forms) - budget
        if over <= 0:
            return Selected(forms, pins.notes)
        target -= over
    return Selected(fit(additions, shapes, base, sheet.exact, budget), pins.notes)


def _with_current(
    pinned: Forms,
    current: Sequence[Group],
    redacted: frozenset[int],
    sheet: Sheet,
    budget: int,
    share: float,
) -> Forms:
    limit = min(budget, sheet.exact(pinned) + int(budget * share))
    forms = dict(pinned)
    for group in current:
        more = {row.sequence: whole(row, row.sequence in redacted) for row in group.rows}
        if sheet.exact({**forms, **more}) <= limit:
            forms.update(more)
    return forms


def _pins(
    groups: Sequence[Group],
    pinned: frozenset[int],
    redacted: frozenset[int],
    sheet: Sheet,
    budget: int,
    encoding: str,
) -> Pins:
    rows = [group.rows[0] for group in groups if group.key in pinned]
    return pin(rows, redacted, sheet.exact, budget, encoding)


def _everything(
    groups: Sequence[Group], redacted: frozenset[int], sheet: Sheet, budget: int
) -> Forms | None:
    if sum(max(row.tokens, 0) for group in groups for row in group.rows) > budget:
        return None
    forms = {
        row.sequence: whole(row, row.sequence in redacted) for group in groups for row in group.rows
    }
    return forms if sheet.exact(forms) <= budget else None
