"""Prompts that a provider's cache knows: what an earlier pack showed stays as it was and new items
are appended; its end is replaced where too much is missing of what a compile afresh would show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from weft.compiler.closure import Group
from weft.compiler.fitting import Forms
from weft.compiler.forms import REDACTED, SUMMARY, Form, reread
from weft.compiler.rendering import RENDER_VERSION
from weft.compiler.selecting import (
    Choice,
    Selected,
    everything_whole,
    fit_exactly,
    pins_of,
    select_afresh,
)
from weft.compiler.wanted import Wanted
from weft.readmodel.rows import ItemRow, SessionView
from weft_schemas.compile import CompileAudit, ManifestEntry

STAYS = tuple(step / 10 for step in range(10, -1, -1))
"""Shares of the base that may stay; what is behind them is replaced."""
PRICE, MOST_PRICE = 38.0, 0.25
"""What sending a whole budget anew costs, as a share of all that is wanted: so much by the budget's
tokens, since in a small one each new item displaces more, and at most. Tuned with the constants
here and in `wanted` on half of the sessions, for prompts of which over three quarters repeat the
one before."""
TALK = 0.8
"""Share of the budget that a replacement fills where nothing was called: a next turn needs room,
while a result is shortened into what there is."""
LASTING = 0.9
"""Share of its price that a part has to earn in the prompt it is added to: it serves later ones
too."""


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
    """Everything whole where it fits; else the prompt that states most of what is wanted for the
    tokens that it sends anew."""
    everything = everything_whole(choice)
    if everything is not None:
        return Selected(everything, ())
    pins = pins_of(choice)
    # What the base shows stays a candidate for values: without, .03 less of a prompt stays, and the
    # next call finds no more in it.
    groups = choice.afresh if choice.current_share else choice.groups
    best = fresh = select_afresh(choice, pins.forms, groups)
    since, most = max(kept, default=0), -math.inf
    current, wanted = _current(choice, fresh, since), Wanted(choice, pins.forms, fresh, since)
    for head, forms in _prompts(choice, kept, pins.forms, current, fresh, wanted):
        cost = choice.sheet.size(forms) - choice.sheet.size(head)
        gain = wanted.share(forms) - _price(choice.budget) * cost / max(choice.budget, 1)
        if gain > most:
            best, most = forms, gain
    return Selected(best, pins.notes)


def _current(choice: Choice, fresh: Forms, since: int) -> Forms:
    """The latest result and those since the base, as a compile afresh shows them, in phases that
    are about them: values that are wanted say little of what one is to be read for."""
    if not choice.current_share:
        return {}
    newer = [group for group in choice.current[1:] if group.rows[-1].sequence > since]
    rows = [row for group in (*choice.current[:1], *newer) for row in group.rows]
    return {row.sequence: fresh[row.sequence] for row in rows if row.sequence in fresh}


def _prompts(
    choice: Choice, kept: Forms, pinned: Forms, current: Forms, fresh: Forms, wanted: Wanted
) -> Iterator[tuple[Forms, Forms]]:
    """What of the base stays, and the prompt that begins with it; each shows `current` so."""
    talk = all(len(group.rows) == 1 for group in choice.groups)
    if not talk:
        yield {}, fresh
    for head in _heads(choice, kept):
        last = max(head, default=0)
        if any(at <= last and head.get(at) != form for at, form in current.items()):
            continue
        base = {**pinned, **head, **current}
        used = choice.sheet.exact(base)
        share = TALK if talk and len(head) < len(kept) else 1.0
        target = max(int(choice.budget * share), used)
        if target <= choice.budget:
            yield head, _behind(choice, base, last, wanted, target)


def _price(budget: int) -> float:
    """Of sending so much anew."""
    return min(PRICE / max(budget, 1), MOST_PRICE)


def _heads(choice: Choice, kept: Forms) -> Iterator[Forms]:
    """What of the base may stay: all, then less and less."""
    size, before = choice.sheet.size(kept), -1
    for share in STAYS:
        head = kept if share == 1.0 else _head(choice, kept, int(size * share))
        if len(head) != before:
            yield head
        before = len(head)


def _behind(choice: Choice, base: Forms, last: int, wanted: Wanted, target: int) -> Forms:
    """The base and what of the items after `last` is worth its price, in `target` tokens: anything
    earlier would stand among what stays and break the prefix."""
    later = [
        group
        for group in choice.groups
        if group.key > last
        and group.key not in choice.pinned
        and group.rows[0].sequence not in base
    ]
    least = _price(choice.budget) * LASTING / max(choice.budget, 1)
    additions, shapes = wanted.order(base, later, least)
    return fit_exactly(choice.sheet, additions, shapes, base, target)


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
