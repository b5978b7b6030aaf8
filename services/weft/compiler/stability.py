"""Prompts that a provider's cache knows: what an earlier pack showed stays as it was and new items
are appended; its end is replaced where too much is missing of what a compile afresh would show."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from weft.compiler.closure import Group
from weft.compiler.fitting import Forms
from weft.compiler.forms import REDACTED, SUMMARY, Form, parted, places, reread, whole
from weft.compiler.pinning import Pins
from weft.compiler.rendering import RENDER_VERSION
from weft.compiler.selecting import Choice, Selected, everything_whole, fill, pins_of
from weft.compiler.values import values
from weft.compiler.worth import ASKED_FIELD, worth
from weft.readmodel.rows import ItemRow, SessionView
from weft_schemas.compile import CompileAudit, ManifestEntry

APPENDED = (0.03, 0.06, 0.1, 0.15, 0.25)
"""Shares of a budget that one compile may append."""
STAYS = (0.8, 0.6, 0.4, 0.2, 0.0)
"""Shares of the base that may stay where its end is replaced, and"""
FILLED = (0.8, 0.9, 1.0)
"""shares of the budget that are filled then: what is left is room to append."""
LEVELS = {0.25: 10.0, 0.5: 5.0, 1.0: 1.0}
"""How much a value is wanted that a compile afresh shows even with this share of the budget: of
what a next call copies, half the budget holds nine tenths."""
SHOWN = 0.1
"""The same for an item at all, whatever it states, against a value of weight 1, as in packing."""
SCORE = 0.5
"""Exponent of an item's score in what its values are wanted for: what stays must serve later steps
too, for which other items are the newest."""
PRICE, MOST_PRICE = 70.0, 0.25
"""What sending a whole budget anew costs, as a share of all that is wanted: so much by the budget's
tokens, since in a small one each new item displaces more, and at most. Tuned with the constants
above on half of the sessions, for prompts of which three quarters repeat the one before."""
ROOM = 0.3
"""What a token of room is worth against one sent anew."""


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


class Plan(msgspec.Struct, frozen=True):
    """One way to begin like the base."""

    head: Forms
    """What of the base stays."""
    base: Forms
    """The same with the pinned."""
    target: int
    """Tokens to fill."""


def select_stable(choice: Choice, kept: Forms) -> Selected:
    """The prompt that states most of what is wanted for the tokens that it sends anew."""
    everything = everything_whole(choice)
    if everything is not None and all(everything.get(at) == form for at, form in kept.items()):
        return Selected(everything, ())
    pins = pins_of(choice)
    best = fill(choice, pins.forms, choice.groups, choice.budget)
    wanted = _Wanted(choice, pins, best)
    most = wanted.share(best) - _cost(choice, 0, choice.sheet.size(best))
    for plan in _plans(choice, kept, pins):
        stays = choice.sheet.size(plan.head)
        # Nothing can state more than all that is wanted, so most plans need not be carried out.
        if 1.0 - _cost(choice, stays, plan.target) <= most:
            continue
        forms = _behind(choice, plan)
        gain = wanted.share(forms) - _cost(choice, stays, choice.sheet.size(forms))
        if gain > most:
            best, most = forms, gain
    return Selected(best, pins.notes)


def _cost(choice: Choice, stays: int, used: int) -> float:
    """Of a prompt of `used` tokens of which so many stay, in shares of what is wanted."""
    budget = max(choice.budget, 1)
    price = min(PRICE / budget, MOST_PRICE)
    return price * (used - stays - ROOM * (budget - used)) / budget


def _plans(choice: Choice, kept: Forms, pins: Pins) -> Iterator[Plan]:
    """With more and more appended, then with more and more of the base's end replaced. None where
    the pinned alone are too much."""
    sheet, budget = choice.sheet, choice.budget
    base = {**pins.forms, **kept}
    used = sheet.exact(base)
    if used <= budget:
        for target in sorted({min(budget, used + int(budget * share)) for share in APPENDED}):
            yield Plan(kept, base, target)
    size = sheet.size(kept)
    for share in STAYS:
        head = _head(choice, kept, int(size * share))
        base = {**pins.forms, **head}
        used = sheet.exact(base)
        for target in (int(budget * filled) for filled in FILLED):
            if used <= target:
                yield Plan(head, base, target)


def _behind(choice: Choice, plan: Plan) -> Forms:
    """The plan's base and the best of what is later than its head: anything earlier would stand
    among what stays and break the prefix."""
    last = max(plan.head, default=0)
    later = [group for group in choice.groups if group.key > last]
    return fill(choice, plan.base, later, plan.target)


class _Wanted:
    """What compiles afresh show: the values that they state even with a small budget above all."""

    def __init__(self, choice: Choice, pins: Pins, fresh: Forms) -> None:
        self._choice = choice
        self._rows = choice.sheet.rows
        self._said: dict[tuple[int, str, str], dict[str, float]] = {}
        scores = {row.sequence: choice.scores[one.key] for one in choice.groups for row in one.rows}
        self._wanted: dict[str, float] = {}
        least = choice.sheet.exact(pins.forms)
        for level, weight in LEVELS.items():
            budget = int(choice.budget * level)
            if level < 1.0 and least > budget:
                continue
            forms = fresh if level == 1.0 else fill(choice, pins.forms, choice.groups, budget)
            best: dict[str, float] = {}
            for sequence, form in forms.items():
                score = weight * scores[sequence] ** SCORE
                for value, worth_of in self._says(sequence, form).items():
                    best[value] = max(best.get(value, 0.0), score * worth_of)
            for value, worth_of in best.items():
                self._wanted[value] = self._wanted.get(value, 0.0) + worth_of
        self._total = sum(self._wanted.values())

    def share(self, forms: Mapping[int, Form]) -> float:
        """Of all that is wanted, what these forms state."""
        stated = dict.fromkeys(
            value for sequence, form in forms.items() for value in self._says(sequence, form)
        )
        found = sum(self._wanted.get(value, 0.0) for value in stated)
        return found / self._total if self._total else 1.0

    def _says(self, sequence: int, form: Form) -> dict[str, float]:
        key = sequence, form.view, form.recipe
        if key not in self._said:
            self._said[key] = _says(self._rows[sequence], form, self._choice.asked)
        return self._said[key]


def _says(row: ItemRow, form: Form, asked: Collection[str]) -> dict[str, float]:
    """The values that a form states, weighed as packing weighs them, and that it is there."""
    found = {f"item {row.sequence}": SHOWN}
    if form.view in (SUMMARY, REDACTED) or form.recipe.startswith("<"):
        return {**found, **values(form.text)}
    parts = parted(row, whole(row)).parts
    for at in places(form.recipe) if form.recipe else range(len(parts)):
        factor = ASKED_FIELD if parts[at].field in asked else 1.0
        for value, weight in worth(parts[at].text, parts[at].field).values.items():
            found[value] = max(found.get(value, 0.0), weight * factor)
    return found


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
