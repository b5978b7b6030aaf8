"""Prompts that a provider's cache knows: what an earlier pack showed stays as it was and new items
are appended; only where that costs too much is the tail replaced, and then room is left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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

APPENDED = (0.06, 0.12, 0.25)
"""Shares of a budget that one compile appends, least first. Tuned together with the constants below
on half of the sessions, for prompts of which three quarters repeat the one before: what is saved by
a longer beginning is paid for in grounding."""
STAYS = (0.85, 0.7, 0.55, 0.4, 0.2, 0.0)
"""Shares of the base that are tried as the new prompt's beginning where appending is not enough."""
LOSS, LOSS_TOKENS, MOST_LOSS = 0.05, 200, 0.25
"""Most worth, against the best try, that a longer beginning may cost: a share, and so many tokens
of the budget, since in a small one each new item displaces more; and"""
LOSS_OF_NEW = 0.6
"""the same for what only items say that the base did not show."""
REFILL = 0.75
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
    tries = list(_tries(choice, kept, pins))
    if not tries:
        return Selected(fill(choice, pins.forms, choice.groups, choice.budget), pins.notes)
    totals = [_worth(choice, forms, 0) for forms in tries]
    of_new = [_worth(choice, forms, max(kept)) for forms in tries]
    loss = min(LOSS + LOSS_TOKENS / max(choice.budget, 1), MOST_LOSS)
    enough, enough_new = max(totals) * (1 - loss), max(of_new) * (1 - LOSS_OF_NEW)
    good = [
        forms
        for forms, total, new in zip(tries, totals, of_new, strict=True)
        if total >= enough and new >= enough_new
    ]
    return Selected(good[0] if good else tries[-1], pins.notes)


def _tries(choice: Choice, kept: Forms, pins: Pins) -> Iterator[Forms]:
    """Prompts that begin like the base, the longest beginning first: with more and more appended,
    then with more and more of the base's end replaced. None where the pinned alone are too much."""
    sheet, budget = choice.sheet, choice.budget
    used = sheet.exact({**pins.forms, **kept})
    for share in APPENDED:
        if used <= budget:
            target = min(budget, used + int(budget * share))
            yield _behind(choice, {**pins.forms, **kept}, kept, target)
    size = sheet.size(kept)
    for share in STAYS:
        head = _head(choice, kept, int(size * share))
        base = {**pins.forms, **head}
        used = sheet.exact(base)
        if used <= budget:
            yield _behind(choice, base, head, max(used, int(budget * REFILL)))


def _behind(choice: Choice, base: Forms, head: Forms, target: int) -> Forms:
    """The base and the best of what is later than its head: anything earlier would stand among
    what stays and break the prefix."""
    last = max(head, default=0)
    return fill(choice, base, [group for group in choice.groups if group.key > last], target)


def _worth(choice: Choice, forms: Forms, known: int) -> float:
    """What a prompt states in items later than `known`: each value once, at the score of the best
    item that states it."""
    best: dict[str, float] = {}
    for group in choice.groups:
        for row in group.rows:
            if row.sequence in forms and row.sequence > known:
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
