"""What stands in every prompt: the latest user turn, and the policies as far as half the budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from weft.compiler.forms import Form, head, whole
from weft.readmodel.rows import ItemRow
from weft_schemas.items import ItemKind

POLICY_SHARE = 0.5
"""Most of a budget that whole policies take; beyond it they are shortened."""
SHORT_SHARE = 0.1
"""Most of a budget that one shortened policy takes."""
LEAST = 6
"""Tokens of text below which a shortened item says nothing."""

Size = Callable[[Mapping[int, Form]], int]
Fits = Callable[[Mapping[int, Form], int], bool]


class Pins(msgspec.Struct, frozen=True):
    forms: dict[int, Form]
    notes: tuple[str, ...]


def pin(
    rows: Sequence[ItemRow],
    redacted: frozenset[int],
    size: Size,
    budget: int,
    encoding: str,
    fits: Fits,
) -> Pins:
    """Forms of the pinned rows: user turn first, then policies, newest first. `fits` tells what
    `size` would, where there is a faster way.

    More budget never loses one: each policy first gets its short form, and grows to the whole only
    where all the others keep theirs.
    """
    forms: dict[int, Form] = {}
    notes: list[str] = []
    users = [row for row in rows if row.kind is not ItemKind.POLICY]
    policies = [row for row in rows if row.kind is ItemKind.POLICY]
    for row in users:
        _add_longest(forms, row, row.sequence in redacted, size, fits, budget, encoding)
    limit = int(budget * SHORT_SHARE)
    for row in reversed(policies):
        room = min(budget, size(forms) + limit)
        _add_longest(forms, row, row.sequence in redacted, size, fits, room, encoding)
    room = min(budget, size(_only(forms, users)) + int(budget * POLICY_SHARE)) if policies else 0
    for row in reversed(policies):
        grown = {**forms, row.sequence: whole(row, row.sequence in redacted)}
        if row.sequence in forms and size(grown) <= room:
            forms = grown
    for row in rows:
        if row.sequence not in forms:
            notes.append(f"{row.kind.value} {row.id} does not fit the budget")
        elif forms[row.sequence].text != whole(row, row.sequence in redacted).text:
            notes.append(f"{row.kind.value} {row.id} is shortened to fit the budget")
    return Pins(forms, tuple(notes))


def _only(forms: Mapping[int, Form], rows: Sequence[ItemRow]) -> dict[int, Form]:
    held = {row.sequence for row in rows}
    return {sequence: form for sequence, form in forms.items() if sequence in held}


def _add_longest(
    forms: dict[int, Form],
    row: ItemRow,
    redacted: bool,
    size: Size,
    fits: Fits,
    limit: int,
    encoding: str,
) -> None:
    """Add the row whole, else its longest head that fits, else nothing."""
    form = whole(row, redacted)
    if fits({**forms, row.sequence: form}, limit):
        forms[row.sequence] = form
        return
    if redacted:
        return
    room = limit - size(forms)
    while room >= LEAST:
        form = head(row, room, encoding)
        over = size({**forms, row.sequence: form}) - limit
        if over <= 0:
            forms[row.sequence] = form
            return
        room -= over
