"""Which value of a fact is the newest, of those in `memory_fact` items and those derived from other
items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec

from weft.compiler.candidates.closure import Group
from weft.facts.keys import MAX_VALUE
from weft.facts.memory_fact import facts_named, remark
from weft.readmodel.rows import FactRow, ItemRow
from weft.readmodel.view import SessionView
from weft_schemas.ids import session_scope
from weft_schemas.items import ItemKind


class Statement(msgspec.Struct, frozen=True):
    """The newest value of a fact."""

    sequence: int
    """Of its source."""
    value: str
    source: str
    """Item id."""


Statements = Mapping[tuple[str, str], Statement]
"""By scope and key."""
NO_STATEMENTS: Statements = MappingProxyType({})


class Outdated(msgspec.Struct, frozen=True):
    """The facts of an item for which newer values are known."""

    numbers: tuple[int, ...]
    """Their numbers among the item's facts, from 0, in order of the text."""
    is_all: bool
    """Whether it has no other fact."""
    source: str
    """Id of an item with a newer value."""


def newest_statements(view: SessionView, groups: Iterable[Group]) -> Statements:
    """The newest value of each scope and key in the `memory_fact` items of these groups."""
    found: dict[tuple[str, str], Statement] = {}
    for row in _facts_among(groups):
        scope = _scope(view, row)
        for one in facts_named(row.metadata, row.whole):
            if one.key:
                found[scope, one.key] = Statement(row.sequence, one.value, row.id)
    return found


def outdated_items(
    view: SessionView, groups: Iterable[Group], known: Statements
) -> dict[int, Outdated]:
    """Items, by sequence, that give a fact with a newer, different value; `known` are the
    statements of these groups."""
    rows = _facts_among(groups)
    if not rows:
        return {}
    newest = _newest(known, _derived_statements(view))
    found = {}
    for row in rows:
        outdated = _outdated(view, row, newest)
        if outdated is not None:
            found[row.sequence] = outdated
    return found


def _newest(known: Statements, remembered: Statements) -> Statements:
    """The newest value of each fact; of equally new ones the item's own."""
    later = {
        name: one
        for name, one in remembered.items()
        if name not in known or known[name].sequence < one.sequence
    }
    return {**known, **later}


def _derived_statements(view: SessionView) -> Statements:
    """Derived facts without remarks, which are valid until they are withdrawn, and without what
    users said, which replaces nothing that an item gives."""
    return {
        (fact.scope, fact.key): Statement(
            fact.sequence, fact.value, fact.sources[0] if fact.sources else fact.session
        )
        for fact in view.facts(view.scopes())
        if not fact.by_user and (not fact.value or fact.key != remark(fact.value).key)
    }


def _outdated(view: SessionView, row: ItemRow, newest: Statements) -> Outdated | None:
    facts, scope = facts_named(row.metadata, row.whole) or [remark(row.whole)], _scope(view, row)
    numbers, newer = [], []
    for number, fact in enumerate(facts):
        known = newest.get((scope, fact.key))
        if known and known.sequence >= row.sequence and not _is_same(known.value, fact.value):
            numbers.append(number)
            newer.append(known.source)
    if not numbers:
        return None
    return Outdated(tuple(numbers), len(numbers) == len(facts), newer[0])


def _is_same(derived: str, value: str) -> bool:
    """Whether both are the same value: derived values are cut."""
    return derived == value or (len(derived) == MAX_VALUE and value.startswith(derived))


def is_outdated(fact: FactRow, known: Statements) -> bool:
    """Whether an item states a newer value, or any other one than the user said."""
    one = known.get((fact.scope, fact.key))
    if one is None or (one.sequence <= fact.sequence and not fact.by_user):
        return False
    return not _is_same(fact.value, one.value)


def _facts_among(groups: Iterable[Group]) -> list[ItemRow]:
    """The `memory_fact` items, oldest first, without those that the policy distrusts."""
    rows = [group.rows[0] for group in groups if group.rows[0].kind is ItemKind.MEMORY_FACT]
    return sorted((row for row in rows if row.envelope is None), key=lambda row: row.sequence)


def _scope(view: SessionView, row: ItemRow) -> str:
    named = row.metadata.get("scope")
    return named if isinstance(named, str) and named else session_scope(view.session)
