"""Stage 4: drops kinds that the phase does not show, items beyond a kind's limit, and replaced
items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from weft.compiler.candidates.closure import Group
from weft.compiler.candidates.facts import Outdated
from weft.compiler.ledger import Ledger
from weft_schemas.items import ItemKind
from weft_schemas.policy import Phase, PhaseRule

_NO_LIMIT = 1 << 62


def shown_in_phase(
    groups: Sequence[Group],
    phase: Phase,
    rule: PhaseRule,
    ledger: Ledger,
    superseded: Mapping[int, Outdated] = MappingProxyType({}),
) -> tuple[Group, ...]:
    """Without the kinds that the phase does not show, replaced plans, and items whose facts are all
    `superseded`, by sequence."""
    shown = frozenset(rule.kinds)
    kept = []
    for group in _without_replaced(groups, superseded, ledger):
        foreign = [row.kind for row in group.rows if row.kind not in shown]
        if foreign:
            detail = f"phase {phase.value} shows no {foreign[0].value}"
            ledger.drop(group.rows, "kind_limit", detail)
        else:
            kept.append(group)
    return tuple(kept)


def within_limits(
    groups: Sequence[Group],
    scores: Mapping[int, float],
    pinned: frozenset[int],
    phase: Phase,
    rule: PhaseRule,
    ledger: Ledger,
) -> tuple[Group, ...]:
    """The best-scored groups within the phase's limits; pinned ones come first."""
    if not rule.limits:
        return tuple(groups)
    counts: Counter[ItemKind] = Counter()
    kept: set[int] = set()
    for group in sorted(
        groups, key=lambda group: (group.key not in pinned, -scores[group.key], -group.key)
    ):
        kinds = Counter(row.kind for row in group.rows)
        full = [
            kind for kind in kinds if counts[kind] + kinds[kind] > rule.limits.get(kind, _NO_LIMIT)
        ]
        if full:
            detail = f"phase {phase.value} shows at most {rule.limits[full[0]]} {full[0].value}"
            ledger.drop(group.rows, "kind_limit", detail)
        else:
            counts += kinds
            kept.add(group.key)
    return tuple(group for group in groups if group.key in kept)


def _without_replaced(
    groups: Sequence[Group], superseded: Mapping[int, Outdated], ledger: Ledger
) -> list[Group]:
    """Without plans that a newer plan of the same author replaced, and items with newer values for
    all their facts."""
    newest: dict[object, str] = {}
    kept = []
    for group in reversed(groups):
        row = group.rows[0]
        if row.kind is ItemKind.PLAN_STATE:
            author = row.metadata.get("author")
            if author in newest:
                ledger.drop([row], "superseded", f"by plan {newest[author]}")
                continue
            newest[author] = row.id
        outdated = superseded.get(row.sequence)
        if outdated is not None and outdated.is_all:
            ledger.drop([row], "superseded", f"by what {outdated.source} says")
            continue
        kept.append(group)
    return kept[::-1]
