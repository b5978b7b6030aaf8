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


def showable(groups: Sequence[Group], phase: Phase, rule: PhaseRule) -> Limited:
    """Without the kinds that the phase does not show, and without replaced plans."""
    dropped: list[DroppedItem] = []
    shown = frozenset(rule.kinds)
    kept = []
    for group in _current(groups, dropped):
        foreign = [row.kind for row in group.rows if row.kind not in shown]
        if foreign:
            detail = f"phase {phase.value} shows no {foreign[0].value}"
            dropped += [DroppedItem(row.id, "kind_limit", detail) for row in group.rows]
        else:
            kept.append(group)
    return Limited(tuple(kept), tuple(dropped))


def apply_limits(
    groups: Sequence[Group],
    scores: Mapping[int, float],
    pinned: frozenset[int],
    phase: Phase,
    rule: PhaseRule,
) -> Limited:
    """The best-scored groups within the phase's limits; pinned ones go first."""
    if not rule.limits:
        return Limited(tuple(groups), ())
    dropped: list[DroppedItem] = []
    counts: Counter[ItemKind] = Counter()
    kept: set[int] = set()
    for group in ranked(groups, scores, pinned):
        kinds = Counter(row.kind for row in group.rows)
        full = [kind for kind in kinds if counts[kind] + kinds[kind] > rule.limits.get(kind, 10**9)]
        if full:
            detail = f"phase {phase.value} shows at most {rule.limits[full[0]]} {full[0].value}"
            dropped += [DroppedItem(row.id, "kind_limit", detail) for row in group.rows]
        else:
            counts += kinds
            kept.add(group.key)
    return Limited(tuple(group for group in groups if group.key in kept), tuple(dropped))


def ranked(
    groups: Sequence[Group], scores: Mapping[int, float], pinned: frozenset[int]
) -> list[Group]:
    """Pinned ones first, then by score, ties to the newer."""
    return sorted(
        groups, key=lambda group: (group.key not in pinned, -scores[group.key], -group.key)
    )


def pool(
    groups: Sequence[Group], scores: Mapping[int, float], pinned: frozenset[int], tokens: int
) -> tuple[Group, ...]:
    """The pinned groups, and the best others whose text together reaches `tokens`: no further one
    has a chance."""
    kept: set[int] = set()
    for group in ranked(groups, scores, pinned):
        if group.key not in pinned:
            if tokens < 0:
                break
            tokens -= sum(max(row.tokens, 0) for row in group.rows)
        kept.add(group.key)
    return tuple(group for group in groups if group.key in kept)


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
