"""Kinds that a phase does not show, most items of a kind, and what newer items have replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from weft.compiler.closure import Group
from weft_schemas.compile import DroppedItem
from weft_schemas.items import ItemKind
from weft_schemas.policy import Phase, PhaseRule


class Limited(msgspec.Struct, frozen=True):
    groups: tuple[Group, ...]
    dropped: tuple[DroppedItem, ...]


def apply_limits(
    groups: Sequence[Group],
    scores: Mapping[int, float],
    pinned: frozenset[int],
    phase: Phase,
    rule: PhaseRule,
) -> Limited:
    """The best-scored groups within the phase's kinds and limits; pinned ones go first."""
    dropped: list[DroppedItem] = []
    current = _current(groups, dropped)
    shown = frozenset(rule.kinds)
    counts: Counter[ItemKind] = Counter()
    kept: set[int] = set()
    for group in sorted(
        current, key=lambda group: (group.key not in pinned, -scores[group.key], -group.key)
    ):
        kinds = Counter(row.kind for row in group.rows)
        foreign = [kind for kind in kinds if kind not in shown]
        full = [kind for kind in kinds if counts[kind] + kinds[kind] > rule.limits.get(kind, 10**9)]
        if foreign:
            detail = f"phase {phase.value} shows no {foreign[0].value}"
        elif full:
            detail = f"phase {phase.value} shows at most {rule.limits[full[0]]} {full[0].value}"
        else:
            counts += kinds
            kept.add(group.key)
            continue
        dropped += [DroppedItem(row.id, "kind_limit", detail) for row in group.rows]
    return Limited(tuple(group for group in current if group.key in kept), tuple(dropped))


def _current(groups: Sequence[Group], dropped: list[DroppedItem]) -> list[Group]:
    """Without the plans that a newer plan of the same author has replaced."""
    newest: dict[object, str] = {}
    kept = []
    for group in reversed(groups):
        row = group.rows[0]
        if row.kind is ItemKind.PLAN_STATE:
            author = row.metadata.get("author")
            if author in newest:
                dropped.append(DroppedItem(row.id, "superseded", f"by plan {newest[author]}"))
                continue
            newest[author] = row.id
        kept.append(group)
    return kept[::-1]
