"""Prompts that a provider's cache knows: what an earlier pack showed stays as it was and new items
are appended; only where that costs too much is the tail replaced, and then room is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from weft.compiler.closure import Group
from weft.compiler.fitting import Forms
from weft.compiler.forms import REDACTED, SUMMARY, Form, reread
from weft.compiler.pinning import Pins
from weft.compiler.rendering import RENDER_VERSION
from weft.compiler.selecting import Choice, Selected, everything_whole, fill, pins_of
from weft.compiler.values import values
from weft.readmodel.rows import ItemRow, SessionView
from weft_schemas.compile import CompileAudit, ManifestEntry

STAYS = (1.0, 0.94, 0.88, 0.82, 0.76, 0.7, 0.6, 0.5, 0.35, 0.2, 0.0)
"""Shares of the base that are tried as the new prompt's beginning, longest first."""
LOSS = 0.16
"""Most worth, against the best try, that a longer beginning may cost. Tuned for three quarters of a
prompt to be its predecessor's beginning."""
APPENDED = 0.25
"""Most of a budget that one compile appends."""
REFILL = 0.8
"""Share of the budget that is filled where something is replaced, so that there is room again."""


class Kept(msgspec.Struct, frozen=True):
    """What of the base can stay."""

    forms: dict[int, Form]
    """By sequence, in the base's order."""
    reason: str = ""
    """Why nothing can, empty where something does."""


def keep(
    view: SessionView,
    base: CompileAudit | None,
    policy_version: int,
    groups: Sequence[Group],
    redacted: frozenset[int],
) -> Kept:
    """The base's blocks up to the first that cannot be shown as it was."""
    if base is None:
        return Kept({}, "the base is not known")
    if (base.tenant, base.session) != (view.tenant, view.session):
        return Kept({}, "the base is of another session")
    if base.sequence > view.sequence:
        return Kept({}, "the base is newer than what is read")
    if (base.policy_version, base.encoding) != (policy_version, view.encoding):
        return Kept({}, "the policy is another")
    if base.render_version != RENDER_VERSION:
        return Kept({}, "the base was rendered by another release")
    return Kept(_prefix(view, base.manifest, groups, redacted))


def _prefix(
    view: SessionView,
    manifest: Sequence[ManifestEntry],
    groups: Sequence[Group],
    redacted: frozenset[int],
) -> Forms:
    group_of = {row.sequence: group for group in groups for row in group.rows}
    rows = {row.sequence: row for group in groups for row in group.rows}
    forms: Forms = {}
    for one in manifest:
        if not one.item_id:
            continue
        row = rows.get(one.sequence)
        form = _again(view, one, row, redacted) if row is not None else None
        if form is None:
            break
        forms[one.sequence] = form
    return unbroken(forms, group_of)


def _again(
    view: SessionView, one: ManifestEntry, row: ItemRow, redacted: frozenset[int]
) -> Form | None:
    """The form that the manifest names, null where the item is not what it was."""
    name, _, recipe = one.view.partition(" ")
    version = row.summary_version if name == SUMMARY else row.version
    if version != one.version or (name == REDACTED) != (row.sequence in redacted):
        return None
    return reread(row, name, recipe, view.encoding)


def unbroken(forms: Mapping[int, Form], group_of: Mapping[int, Group]) -> Forms:
    """The longest run from the start in which every group is complete."""
    complete, open_rows = 0, 0
    for place, sequence in enumerate(forms, 1):
        group = group_of[sequence]
        open_rows += len(group.rows) - 1 if sequence == group.key else -1
        if open_rows == 0:
            complete = place
    return dict(list(forms.items())[:complete])


def select_stable(choice: Choice, kept: Forms) -> Selected:
    """As long a beginning of the base as costs little worth, and behind it the best of the rest."""
    everything = everything_whole(choice)
    if everything is not None and all(everything.get(at) == form for at, form in kept.items()):
        return Selected(everything, ())
    pins = pins_of(choice)
    tries = [forms for share in STAYS if (forms := _try(choice, kept, pins, share)) is not None]
    worths = [_worth(choice, forms) for forms in tries]
    enough = max(worths, default=0.0) * (1 - LOSS)
    for forms, worth in zip(tries, worths, strict=True):
        if worth >= enough:
            return Selected(forms, pins.notes)
    return Selected(pins.forms, pins.notes)


def _try(choice: Choice, kept: Forms, pins: Pins, share: float) -> Forms | None:
    """The prompt with this share of the base, null where that alone is too much."""
    sheet, budget = choice.sheet, choice.budget
    head = kept if share == 1.0 else _head(choice, kept, int(sheet.size(kept) * share))
    base = {**pins.forms, **head}
    used = sheet.exact(base)
    if used > budget:
        return None
    appended = min(budget, used + int(budget * APPENDED))
    target = appended if share == 1.0 else max(used, int(budget * REFILL))
    last = max(head, default=0)
    # Groups that would stand among those that stay would break the prefix.
    return fill(choice, base, [group for group in choice.groups if group.key > last], target)


def _worth(choice: Choice, forms: Forms) -> float:
    """What a prompt states: each value once, at the score of the best item that states it."""
    best: dict[str, float] = {}
    for group in choice.groups:
        for row in group.rows:
            if row.sequence in forms:
                score = choice.scores[group.key]
                for value, weight in values(forms[row.sequence].text).items():
                    best[value] = max(best.get(value, 0.0), score * weight)
    return sum(best.values())


def _head(choice: Choice, kept: Forms, limit: int) -> Forms:
    """As much of the base's beginning as takes at most `limit` tokens, groups unbroken."""
    group_of = {row.sequence: group for group in choice.groups for row in group.rows}
    low, high = 0, len(kept)
    items = list(kept.items())
    while low < high:
        middle = (low + high + 1) // 2
        if choice.sheet.size(dict(items[:middle])) <= limit:
            low = middle
        else:
            high = middle - 1
    return unbroken(dict(items[:low]), group_of)
