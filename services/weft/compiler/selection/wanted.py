"""What a step wants of a session: the values that compiles afresh state, each by how likely a call
copies it; how much of that a prompt states, and which parts add most to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from weft.compiler.candidates.closure import Group
from weft.compiler.fitting import Forms
from weft.compiler.forms import (
    REDACTED,
    SHORTENED,
    SUMMARY,
    Form,
    Shape,
    parted,
    places,
    shape,
    whole,
)
from weft.compiler.greedy import best_first
from weft.compiler.outline import PROSE_LEAF, Part
from weft.compiler.packing import OVERSHOOT, Addition, density_of, opening, priced
from weft.compiler.selecting import Choice, fill
from weft.compiler.ranking.values import values, written_value
from weft.compiler.worth import prose_factor, standing, worth
from weft.readmodel.rows import ItemRow
from weft_schemas.items import ItemKind

LEVELS = {0.25: 5.0, 0.5: 5.0, 1.0: 1.0}
"""How much a value is wanted that a compile afresh states with this share of the budget: of what a
next call copies, half the budget holds nine tenths."""
SCORE = 0.25
"""Exponent of an item's score: what stays must serve later steps too, for which other items are
the newest."""
SHOWN = 0.05
"""What it counts that an item is there at all, against a value of weight 1."""
NEW = 2.0
"""Factor for what came after the base."""
FLATTENED = 0.7
"""Exponent of all of the above: they say less about what is copied than what follows."""
ASKED, AGAIN = 3.0, 2.0
"""Factors for values that stand in a field named like an argument, and that several items state. On
the tuned half .04 to .09 and .02 to .06 of these are copied by the next call, and of other values
.002 to .01."""
USED, RECENT, OFTEN = 4.0, 3, 2.0
"""Factor for values that one of the last so many calls used, and for those that several calls did.
On the tuned half .05 to .30 of the values that one of the last three calls used are copied by the
next, of those used longer ago .01 to .07."""
NUMBERS = 0.4
"""Factor for values of digits alone: on the tuned half .000 to .005 of them are copied by the next
call, of identifiers, codes and dates .01 to .08."""
NAMED = 5.0
"""Factor for those numbers and amounts of money that the latest user turn or message of the agent
states: on the tuned half .09 of the amounts in the latest message are copied, of those in the one
before .02, in earlier ones none of 54."""
SPOKEN = (ItemKind.USER_TURN, ItemKind.AGENT_MSG)
WHOLE, LONGEST = 0.4, 80
"""Weight of an argument of several words, taken as one value, and its most characters: a call that
is tried again copies it. Such texts of other items are not copied (0 of 2,812)."""

_POINTS = str.maketrans("", "", ".,:")
_MONEY = str.maketrans("", "", ".,:$€£¥")


class Offer(msgspec.Struct, frozen=True):
    """A part that can be added."""

    group: Group
    sequence: int
    part: int
    cost: float
    wanted: dict[str, float]


class Wanted:
    """`pinned` stands in every prompt, `fresh` is the prompt of a compile afresh, and `since` the
    sequence after which items are new."""

    def __init__(self, choice: Choice, pinned: Forms, fresh: Forms, since: int) -> None:
        self._choice = choice
        self._rows = choice.sheet.rows
        self._said: dict[tuple[int, str, str], dict[str, float]] = {}
        shown: dict[str, float] = {}
        for forms, weight in _levels(choice, pinned, fresh):
            for value, worth_of in self._best(forms, since).items():
                shown[value] = shown.get(value, 0.0) + weight * worth_of
        likely = _likelihoods(choice)
        self._wanted: dict[str, float] = {
            value: worth_of**FLATTENED * likely.get(value, 1.0) for value, worth_of in shown.items()
        }
        self._total = sum(self._wanted.values()) or 1.0

    def share(self, forms: Mapping[int, Form]) -> float:
        """Of all that is wanted, what these forms state; 1.0 where nothing is."""
        if not self._wanted:
            return 1.0
        return sum(self._wanted.get(value, 0.0) for value in self._stated(forms)) / self._total

    def order(
        self, base: Forms, groups: Sequence[Group], least: float
    ) -> tuple[list[Addition], dict[int, Shape]]:
        """Parts of the groups beside `base`, best first, as long as each token of one adds more
        than `least` to the share; and the items' shapes."""
        stated = self._stated(base)
        shapes: dict[int, Shape] = {}
        offers: list[Offer] = []
        for group in groups:
            for row in group.rows:
                redacted = row.sequence in self._choice.redacted
                shapes[row.sequence] = shape(row, redacted, self._choice.wants.atomic)
                offers += self._offers(group, row, shapes[row.sequence])
        opened: set[int] = set()

        def rate(offer: Offer) -> float:
            gain = sum([held for value, held in offer.wanted.items() if value not in stated])
            cost = offer.cost
            if offer.group.key not in opened:
                cost += opening(offer.group)
                gain += sum([self._wanted.get(_shown(row), 0.0) for row in offer.group.rows])
            return gain / cost

        additions: list[Addition] = []
        spent, limit = 0.0, self._choice.budget * OVERSHOOT
        for offer, gain in best_first(offers, rate):
            if gain <= least * self._total or spent > limit:
                break
            cost = offer.cost + (0.0 if offer.group.key in opened else opening(offer.group))
            opened.add(offer.group.key)
            spent += cost
            additions.append(Addition(offer.group, offer.sequence, offer.part, cost))
            stated.update(offer.wanted)
        return additions, shapes

    def _offers(self, group: Group, row: ItemRow, shaped: Shape) -> list[Offer]:
        density = density_of(row)
        return [
            Offer(group, row.sequence, at, priced(part, density), self._held(row, part))
            for at, part in enumerate(shaped.parts)
        ]

    def _held(self, row: ItemRow, part: Part) -> dict[str, float]:
        return {
            value: self._wanted[value] for value in _values_of(row, part) if value in self._wanted
        }

    def _best(self, forms: Forms, since: int) -> dict[str, float]:
        """What each value that the forms state is worth where it counts most."""
        keys = {row.sequence: group.key for group in self._choice.groups for row in group.rows}
        best: dict[str, float] = {}
        for sequence, form in forms.items():
            score = self._choice.scores[keys[sequence]] ** SCORE * (NEW if sequence > since else 1)
            for value, worth_of in self._says(sequence, form).items():
                best[value] = max(best.get(value, 0.0), score * worth_of)
        return best

    def _stated(self, forms: Mapping[int, Form]) -> dict[str, float]:
        """What the forms state, in order."""
        stated: dict[str, float] = {}
        for sequence, form in forms.items():
            stated.update(self._says(sequence, form))
        return stated

    def _says(self, sequence: int, form: Form) -> dict[str, float]:
        key = sequence, form.view, form.recipe
        if key not in self._said:
            self._said[key] = _says(self._rows[sequence], form, self._choice.asked)
        return self._said[key]


def _levels(choice: Choice, pinned: Forms, fresh: Forms) -> Iterator[tuple[Forms, float]]:
    least = choice.sheet.exact(pinned)
    for level, weight in LEVELS.items():
        budget = int(choice.budget * level)
        if level == 1.0:
            yield fresh, weight
        elif least <= budget:
            yield fill(choice, pinned, choice.groups, budget), weight


def _says(row: ItemRow, form: Form, asked: Collection[str]) -> dict[str, float]:
    """The values that a form states, weighed as packing weighs them, and that it is there."""
    found = {_shown(row): SHOWN}
    if form.view in (SUMMARY, REDACTED) or form.recipe.startswith("<"):
        return {**found, **values(form.text)}
    parts, prose = parted(row, whole(row)).parts, prose_factor(row)
    for at in places(form.recipe) if form.view == SHORTENED else range(len(parts)):
        factor = standing(parts[at].field, asked, prose)
        for value, weight in _values_of(row, parts[at]).items():
            found[value] = max(found.get(value, 0.0), weight * factor)
    return found


def _values_of(row: ItemRow, part: Part) -> dict[str, float]:
    """The values that a part states, an argument of several words among them."""
    found = worth(part.text, part.field).values
    if row.kind is not ItemKind.TOOL_CALL:
        return found
    value = written_value(part.text, part.field)
    return {**found, value: WHOLE} if " " in value and len(value) <= LONGEST else found


def _shown(row: ItemRow) -> str:
    """Stands among the values for the item itself."""
    return f"item {row.sequence}"


def _likelihoods(choice: Choice) -> dict[str, float]:
    """Factor per value."""
    stating: dict[str, set[int]] = {}
    asked: set[str] = set()
    calls: list[ItemRow] = []
    for group in choice.groups:
        for row in group.rows:
            if row.sequence in choice.redacted:
                continue
            if row.kind is ItemKind.TOOL_CALL:
                calls.append(row)
            for part in parted(row, whole(row)).parts:
                stated = _values_of(row, part)
                if part.field in choice.asked:
                    asked.update(stated)
                for value in stated:
                    stating.setdefault(value, set()).add(group.key)
    calls.sort(key=lambda row: row.sequence)
    named = _last_said(choice)
    used = [_used(row) for row in calls]
    recent, uses = set().union(*used[-RECENT:]), Counter(value for one in used for value in one)
    return {
        value: (ASKED if value in asked else 1.0)
        * (AGAIN if len(groups) > 1 else 1.0)
        * (USED if value in recent else 1.0)
        * _of_digits(value, named)
        * (OFTEN if uses[value] > 1 else 1.0)
        for value, groups in stating.items()
    }


def _of_digits(value: str, named: Collection[str]) -> float:
    """Factor for a number or an amount of money; 1.0 for all else."""
    if value in named and value.translate(_MONEY).isdigit():
        return NAMED
    return NUMBERS if value.translate(_POINTS).isdigit() else 1.0


def _last_said(choice: Choice) -> set[str]:
    """What the latest user turn and the latest message of the agent state."""
    latest: dict[ItemKind, ItemRow] = {}
    for group in choice.groups:
        row = group.rows[0]
        if row.kind in SPOKEN and row.sequence not in choice.redacted:
            latest[row.kind] = max(latest.get(row.kind, row), row, key=lambda one: one.sequence)
    return {value for row in latest.values() for value in values(row.text)}


def _used(call: ItemRow) -> set[str]:
    """What a call's arguments hold, long texts aside."""
    held: set[str] = set()
    for text in _leaves(call.metadata.get("arguments")):
        if len(text) <= PROSE_LEAF:
            held.add(text)
            held.update(values(text))
    return held


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for held in value.values() if isinstance(value, dict) else value:
            yield from _leaves(held)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
