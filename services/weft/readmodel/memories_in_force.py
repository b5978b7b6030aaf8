"""The facts and episodes of scopes that are in force at one sequence."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from weft.facts.keys import is_among, is_negated
from weft.readmodel.memory_fold import EPISODE, FACT, USER_FACT
from weft.readmodel.rows import EpisodeRow, FactRow
from weft.readmodel.store import OPEN, statements
from weft_schemas.events import EpisodeEvent, MemoryFact

MAX_FACTS = 1_000
"""Per scope; the newest ones are read."""

_sql = statements("memories_in_force")
_fact = msgspec.json.Decoder(MemoryFact)
_episode = msgspec.json.Decoder(EpisodeEvent)


class MemoriesInForce(NamedTuple):
    """Those of one tenant, read from SQLite."""

    db: sqlite3.Connection
    tenant: str
    sequence: int

    def facts(self, scopes: Sequence[str]) -> list[FactRow]:
        """By scope and key."""
        found = [fact for scope in dict.fromkeys(scopes) for fact in self._of_scope(scope)]
        return sorted(found, key=lambda fact: (fact.scope, fact.key))

    def episodes(self, scopes: Sequence[str], limit: int) -> list[EpisodeRow]:
        """The newest ones of all these scopes."""
        found = []
        for scope in dict.fromkeys(scopes):
            for body, source, version, tokens, session in self._newest(EPISODE, scope, limit):
                episode = _episode.decode(body)
                known = EpisodeRow(
                    scope, episode.episode_id, episode.text, tokens, version,
                    episode.first_sequence, episode.last_sequence, episode.sensitivity, session,
                )  # fmt: skip
                found.append((source, version, known))
        found.sort(key=lambda entry: (entry[0], entry[1], entry[2].scope), reverse=True)
        return [row for _, _, row in found[:limit]]

    def _of_scope(self, scope: str) -> Iterator[FactRow]:
        """The facts of a scope. What is stated of most is one plain value; the statements of any
        other are read one by one."""
        given = {row.key: row for row in self._newest_facts(FACT, scope)}
        said = {row.key: row for row in self._newest_facts(USER_FACT, scope)}
        has_all = len(given) < MAX_FACTS
        for key in {**given, **said}:
            one, later = given.get(key), said.get(key)
            if one is not None and not one.negates and (later is None or _is_newer(one, later)):
                yield one
            elif one is None and later is not None and not later.negates and has_all:
                yield later
            elif (fact := in_force(self._statements(scope, key))) is not None:
                yield fact

    def _newest_facts(self, kind: str, scope: str) -> Iterator[FactRow]:
        for body, source, version, _, session in self._newest(kind, scope, MAX_FACTS):
            yield _fact_row(scope, body, source, version, kind, session)

    def _statements(self, scope: str, key: str) -> Iterator[FactRow]:
        """All that was stated of a fact, newest first."""
        values = {"tenant": self.tenant, "scope": scope, "name": key, "at": self.sequence}
        for row in self.db.execute(_sql.statements_of_fact, values):
            yield _fact_row(scope, *row)

    def _newest(self, kind: str, scope: str, limit: int) -> list[tuple[Any, ...]]:
        """The newest values in force in a scope, ties by name."""
        values = {
            "tenant": self.tenant, "type": kind, "scope": scope, "limit": limit,
            "at": self.sequence, "open": OPEN,
        }  # fmt: skip
        return self.db.execute(_sql.memories, values).fetchall()


def in_force(statements: Iterable[FactRow]) -> FactRow | None:
    """What is known of a fact, of all that was stated of it, newest first. None if nothing was
    stated but negations.

    The newest affirmative statement holds, unless a newer negation is about it. If a user made it,
    it stands beside what was given before. This is decided here and not in the fold, since an
    earlier statement may arrive later.
    """
    negations: list[FactRow] = []
    said: FactRow | None = None
    for row in statements:
        if row.negates:
            negations.append(row)
        elif not row.by_user:
            return _given(row, said, negations)
        elif said is None:
            about = (one for one in negations if is_negated(row.value, one.negates))
            said = next(about, row)
    return said


def _given(given: FactRow, said: FactRow | None, negations: Sequence[FactRow]) -> FactRow:
    """What was given, and what the user said since, if that is something else. A user's statement
    holds alone once what was given is withdrawn."""
    about = [one for one in negations if is_negated(given.value, one.negates)]
    given = next((one for one in about if not one.by_user), given)
    if not given.value:
        return said if said is not None and said.value else given
    if said is None or said.negates:
        later = next((one for one in about if one.by_user), None)
        if later is not None:
            later = msgspec.structs.replace(later, negates=(given.value,))
    else:
        later = None if is_among(said.value, (given.value,)) else said
    return msgspec.structs.replace(given, said_later=later)


def _is_newer(one: FactRow, other: FactRow) -> bool:
    return (one.sequence, one.version) > (other.sequence, other.version)


def _fact_row(
    scope: str, body: bytes, source: int, version: int, kind: str, session: str
) -> FactRow:
    fact = _fact.decode(body)
    return FactRow(
        scope, fact.key, fact.value, source, version, fact.sources, fact.sensitivity, session,
        fact.negates, kind == USER_FACT,
    )  # fmt: skip
