"""Stage 7: what goes into the budget. Everything whole where it fits; else parts, best value for
their tokens first, each value paid for once."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence

import msgspec

from weft.compiler.closure import Group
from weft.compiler.forms import Form, Shape, shape, whole
from weft.compiler.outline import Part, structured
from weft.compiler.rendering import blocks
from weft.compiler.values import values
from weft.readmodel.rows import ItemRow
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind

OVERSUPPLY = 8
"""Groups are taken apart, best first, until their text is this many budgets."""
ASKED_FIELD = 1.5
ASKED_VALUE = 1.0
COVERED = 8.0
CHARACTERS_PER_TOKEN = 3.3
"""Of text rich in values; only to compare parts, never to keep the budget."""


class Wants(msgspec.Struct, frozen=True):
    """What the phase looks for."""

    atomic: int
    """Characters up to which an item is shown whole or not at all."""
    facts: float
    """Worth of a new value, against the text's own 1.0 per part."""
    cheap: float
    """Exponent of the cost: 1.0 prefers the best value per token, 0.0 ignores length."""


class Choice(msgspec.Struct, frozen=True):
    """Forms per sequence, and the groups that have one."""

    forms: dict[int, Form]


Make = Callable[[ItemRow, Form], PackEntry]
Count = Callable[[str], int]


class Packer:
    """One compile's packing: the groups, their scores and the ways to make and count entries."""

    def __init__(
        self,
        groups: Sequence[Group],
        scores: Mapping[int, float],
        pinned: frozenset[int],
        redacted: frozenset[int],
        wants: Wants,
        make: Make,
        count: Count,
        header: Sequence[PackEntry] = (),
    ) -> None:
        self.groups = list(groups)
        self.scores = scores
        self.pinned = pinned
        self.redacted = redacted
        self.wants = wants
        self.make = make
        self.count = count
        self.header = list(header)
        self.asked_fields: set[str] = set()
        self.asked_values: set[str] = set()
        for group in groups:
            for row in group.rows:
                if row.kind is ItemKind.TOOL_CALL:
                    for part in structured(row.metadata.get("arguments") or {}).parts:
                        self.asked_fields.add(part.field)
                        self.asked_values.update(values(part.text))

    def pack(self, budget: int) -> list[PackEntry]:
        """Entries whose prompt takes at most `budget` tokens."""
        everything = self._whole(budget)
        if everything is not None:
            return everything
        additions = self._additions(budget)
        return self._fit(additions, budget)

    def tokens(self, entries: Sequence[PackEntry]) -> int:
        """Tokens of the prompt that these entries make: blocks are lines, so they add up."""
        return sum(self.count("\n".join(lines) + "\n") for lines in blocks(entries))

    def _whole(self, budget: int) -> list[PackEntry] | None:
        if sum(max(row.tokens, 0) for group in self.groups for row in group.rows) > budget:
            return None
        entries = [
            self.make(row, whole(row, row.sequence in self.redacted))
            for row in sorted(
                (row for group in self.groups for row in group.rows), key=lambda row: row.sequence
            )
        ]
        entries = [*self.header, *entries]
        return entries if self.tokens(entries) <= budget else None

    def _additions(self, budget: int) -> list[tuple[Group, int, int]]:
        """(group, row index, part index) in order of worth, well over the budget's fill."""
        ranked = sorted(
            self.groups,
            key=lambda group: (group.key not in self.pinned, -self.scores[group.key], -group.key),
        )
        self.shapes: dict[int, Shape] = {}
        supply = 0
        heap: list[tuple[float, int, int, int, int]] = []
        by_key: dict[int, Group] = {}
        worth: dict[tuple[int, int, int], dict[str, float]] = {}
        for group in ranked:
            if supply > OVERSUPPLY * budget:
                break
            by_key[group.key] = group
            for at, row in enumerate(group.rows):
                supply += max(row.tokens, 0)
                shaped = shape(row, row.sequence in self.redacted, self.wants.atomic)
                self.shapes[row.sequence] = shaped
                for index, part in enumerate(shaped.parts):
                    worth[group.key, at, index] = self._worth(part)
                    heap.append((-1e9, -group.key, at, index, len(part.text)))
        covered: dict[str, int] = {}
        opened: set[int] = set()
        order: list[tuple[Group, int, int]] = []
        heap = [
            (
                -self._ratio(worth[-key, at, index], length, -key, covered, opened),
                key,
                at,
                index,
                length,
            )
            for _, key, at, index, length in heap
        ]
        heapq.heapify(heap)
        spent = 0.0
        limit = budget * 1.3
        while heap and spent < limit:
            _, key, at, index, length = heapq.heappop(heap)
            group = by_key[-key]
            ratio = self._ratio(worth[-key, at, index], length, -key, covered, opened)
            if heap and -ratio > heap[0][0] + 1e-12:
                heapq.heappush(heap, (-ratio, key, at, index, length))
                continue
            order.append((group, at, index))
            spent += length / CHARACTERS_PER_TOKEN + 1
            if -key not in opened:
                spent += self._overhead(group)
                opened.add(-key)
            for value in worth[-key, at, index]:
                covered[value] = covered.get(value, 0) + 1
        return order

    def _worth(self, part: Part) -> dict[str, float]:
        found = values(part.text)
        factor = ASKED_FIELD if part.field in self.asked_fields else 1.0
        return {
            value: weight * factor * (ASKED_VALUE if value in self.asked_values else 1.0)
            for value, weight in found.items()
        }

    def _overhead(self, group: Group) -> float:
        return 4.0 if len(group.rows) == 1 else 10.0 * len(group.rows)

    def _ratio(
        self,
        worth: Mapping[str, float],
        length: int,
        key: int,
        covered: Mapping[str, int],
        opened: set[int],
    ) -> float:
        new = sum(weight / (1 + COVERED * covered.get(value, 0)) for value, weight in worth.items())
        cost = length / CHARACTERS_PER_TOKEN + 1
        if key not in opened:
            cost += 5
        gain = 1.0 + self.wants.facts * new
        ratio = self.scores[key] * gain / cost**self.wants.cheap
        return ratio + (1e6 if key in self.pinned else 0.0)

    def _fit(self, additions: list[tuple[Group, int, int]], budget: int) -> list[PackEntry]:
        """The longest run of additions whose exact prompt fits, by bisection."""
        low, high = 0, len(additions)
        best: list[PackEntry] = []
        guess = min(high, max(1, int(high / 1.3)))
        while low < high:
            entries = self._assemble(additions[:guess])
            if self.tokens(entries) <= budget:
                low, best = guess, entries
            else:
                high = guess - 1
            guess = (low + high + 1) // 2
        return best or (self.header if self.tokens(self.header) <= budget else [])

    def _assemble(self, additions: Sequence[tuple[Group, int, int]]) -> list[PackEntry]:
        chosen: dict[int, dict[int, list[int]]] = {}
        rows: dict[int, ItemRow] = {}
        for group, at, index in additions:
            held = chosen.setdefault(group.key, {})
            held.setdefault(at, []).append(index)
            rows.update((row.sequence, row) for row in group.rows)
        picked: dict[int, set[int]] = {}
        for group in self.groups:
            for at, row in enumerate(group.rows):
                if group.key in chosen:
                    picked[row.sequence] = set(chosen[group.key].get(at, ()))
        return [
            *self.header,
            *(
                self.make(rows[sequence], self.shapes[sequence].choose(picked[sequence]))
                for sequence in sorted(picked)
            ),
        ]
