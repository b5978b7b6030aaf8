"""Which value of a fact is the newest: what `memory_fact` items state themselves, beside what was
derived from all that was said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec

from weft.compiler.candidates.closure import Group
from weft.facts.memory_fact import facts_named
from weft.readmodel.rows import FactRow, ItemRow, SessionView
from weft_schemas.items import ItemKind


class Statement(msgspec.Struct, frozen=True):
    """The newest value of a fact."""

    sequence: int
    """Of its source."""
    value: str
    source: str
    """Item id."""


Stated = Mapping[tuple[str, str], Statement]
"""By scope and key."""
NOTHING_STATED: Stated = MappingProxyType({})


def stated(view: SessionView, groups: Iterable[Group]) -> Stated:
    """What these groups' `memory_fact` items state, the newest of each scope and key."""
    found: dict[tuple[str, str], Statement] = {}
    for row in _facts_among(groups):
        for name, value in _of(view, row).items():
            found[name] = Statement(row.sequence, value, row.id)
    return found


def superseded(view: SessionView, groups: Iterable[Group]) -> dict[int, str]:
    """The items all of whose facts have a newer, other value: sequence → the newer one's source."""
    rows = _facts_among(groups)
    if not rows:
        return {}
    newest = dict(stated(view, groups))
    for fact in view.facts(view.scopes()):
        name = (fact.scope, fact.key)
        if name not in newest or newest[name].sequence < fact.sequence:
            source = fact.sources[0] if fact.sources else fact.session
            newest[name] = Statement(fact.sequence, fact.value, source)
    found = {}
    for row in rows:
        newer = [
            newest[name]
            for name, value in _of(view, row).items()
            if newest[name].sequence > row.sequence and newest[name].value != value
        ]
        if newer and len(newer) == len(_of(view, row)):
            found[row.sequence] = newer[0].source
    return found


def outdated(fact: FactRow, known: Stated) -> bool:
    """Whether an item states a newer value."""
    one = known.get((fact.scope, fact.key))
    return one is not None and one.sequence > fact.sequence and one.value != fact.value


def _facts_among(groups: Iterable[Group]) -> list[ItemRow]:
    """Oldest first; those that the policy distrusts teach nothing."""
    rows = [group.rows[0] for group in groups if group.rows[0].kind is ItemKind.MEMORY_FACT]
    return sorted((row for row in rows if row.envelope is None), key=lambda row: row.sequence)


def _of(view: SessionView, row: ItemRow) -> dict[tuple[str, str], str]:
    named = row.metadata.get("scope")
    scope = named if isinstance(named, str) and named else f"session:{view.session}"
    return {(scope, key): value for key, value in facts_named(row.metadata, row.whole)}
