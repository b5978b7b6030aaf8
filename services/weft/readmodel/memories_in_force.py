"""The facts and episodes of scopes that are in force at one sequence."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from weft.facts.keys import is_among
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
        found = [
            fact
            for scope in dict.fromkeys(scopes)
            for row in self._newest("fact", scope, MAX_FACTS)
            if (fact := self._in_force(scope, row)) is not None
        ]
        return sorted(found, key=lambda fact: (fact.scope, fact.key))

    def episodes(self, scopes: Sequence[str], limit: int) -> list[EpisodeRow]:
        """The newest ones of all these scopes."""
        found = []
        for scope in dict.fromkeys(scopes):
            for row in self._newest("episode", scope, limit):
                body, source, version, tokens, session, _ = row
                episode = _episode.decode(body)
                known = EpisodeRow(
                    scope, episode.episode_id, episode.text, tokens, version,
                    episode.first_sequence, episode.last_sequence, episode.sensitivity, session,
                )  # fmt: skip
                found.append((source, version, known))
        found.sort(key=lambda entry: (entry[0], entry[1], entry[2].scope), reverse=True)
        return [row for _, _, row in found[:limit]]

    def _in_force(self, scope: str, newest: tuple[Any, ...]) -> FactRow | None:
        """The newest statement of a fact or, if that negates something else, the one before. None
        if nothing was stated but negations.

        This is decided here and not in the fold, since an earlier value may arrive later.
        """
        negations: list[tuple[FactRow, tuple[str, ...]]] = []
        for row in chain([newest], self._before(scope, newest)):
            fact = _fact.decode(row[0])
            if not fact.negates:
                about = (one for one, negated in negations if is_among(fact.value, negated))
                return next(about, _fact_row(scope, fact, row))
            negations.append((_fact_row(scope, fact, row), fact.negates))
        return None

    def _before(self, scope: str, newest: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        """The values of a fact before its newest one, newest first."""
        _, source, version, _, _, name = newest
        values = {
            "tenant": self.tenant, "type": "fact", "scope": scope, "name": name, "source": source,
            "version": version, "at": self.sequence,
        }  # fmt: skip
        yield from self.db.execute(_sql.memories_before, values)

    def _newest(self, kind: str, scope: str, limit: int) -> list[tuple[Any, ...]]:
        """The newest values in force in a scope, ties by name."""
        values = {
            "tenant": self.tenant, "type": kind, "scope": scope, "limit": limit,
            "at": self.sequence, "open": OPEN,
        }  # fmt: skip
        found = self.db.execute(_sql.memories, values).fetchall()
        return sorted(found, key=lambda row: (-row[1], -row[2], row[5]))


def _fact_row(scope: str, fact: MemoryFact, row: tuple[Any, ...]) -> FactRow:
    _, source, version, _, session, _ = row
    return FactRow(
        scope, fact.key, fact.value, source, version, fact.sources, fact.sensitivity, session
    )
