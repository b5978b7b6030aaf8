"""One session at one sequence, read from SQLite. Every query has a limit that does not depend on
the session's length, and a condition that excludes later rows."""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any

import msgspec

from weft.readmodel.memories_in_force import MemoriesInForce
from weft.readmodel.rows import KINDS, EpisodeRow, FactRow, ItemRow, Match, item_row
from weft.readmodel.search import MAX_POSTINGS, IndexSearch
from weft.readmodel.store import snapshot, statements
from weft.readmodel.unsealed_postings import UnsealedCache
from weft_schemas.combined_policy import encoded_in_force
from weft_schemas.envelope import Signal
from weft_schemas.grants import ScopeGrants
from weft_schemas.ids import session_scope
from weft_schemas.items import ItemKind
from weft_schemas.policy import ContextPolicy
from weft_schemas.routing import Catalog

MAX_PINS = 32
"""The newest ones are read."""
MAX_FLAGS = 1_000
"""Items with signals; the newest ones are read."""

_sql = statements("view")
_postings = statements("postings")
_ITEMS = {
    name: f"{_sql.item}\n{where}" for name, where in vars(_sql).items() if where.startswith("WHERE")
}
"""The queries of items, by what they look for."""
_signals = msgspec.json.Decoder(tuple[Signal, ...])
_grants = msgspec.json.Decoder(ScopeGrants)
_catalog = msgspec.json.Decoder(Catalog)


class SessionView:
    """One session of one tenant at one sequence, over one connection, for one thread. Neither later
    events nor other sessions change what it returns. Every list has a fixed order."""

    def __init__(
        self,
        db: sqlite3.Connection,
        tenant: str,
        session: str,
        as_of: int | None = None,
        unsealed: UnsealedCache | None = None,
    ) -> None:
        """Reads at `as_of`, or at the newest folded sequence if that is earlier or none is given.
        `unsealed` is the connection's cache."""
        self._db = db
        self._cache = UnsealedCache() if unsealed is None else unsealed
        self.tenant = tenant
        self.session = session
        self._readable: frozenset[str] | None = None
        """Scopes whose memory is visible; None for all."""
        self._by_ordinal: dict[int, ItemRow] = {}
        self._by_sequence: dict[int, ItemRow] = {}
        """Rows read so far: most are needed by several stages of a compile."""
        self._facts_of: dict[tuple[int | str, ...], list[FactRow]] = {}
        """The same for facts, by sequence and scopes: a scope may have many."""
        with snapshot(db):
            place = {"tenant": tenant, "session": session}
            checkpoint, encoding, *counted = db.execute(_sql.begin, place).fetchone()
            self._number, self._items_now, self._documents_now, self.words = counted
            """The session's number, 0 if it is unknown, and its counts at the newest sequence:
            items, documents in the text index, and words in these."""
            folded = checkpoint or 0
            self.sequence = folded if as_of is None else max(0, min(as_of, folded))
            self.encoding: str = encoding or ""
            self._count: int = self._items_now
            if self.sequence < folded:
                ordinals = range(self._items_now)
                self._count = bisect_right(ordinals, self.sequence, key=self._sequence_of)
        self._memories = MemoriesInForce(db, tenant, self.sequence)

    def item_count(self) -> int:
        return self._count

    def has_few_passages(self, items: int, most: int) -> bool:
        """Whether the newest `items` have about `most` passages at most: an estimate of their size
        without reading them, as of now and not of the view's sequence."""
        if self._documents_now <= most:
            return True
        if self._items_now <= items:
            return False
        place = (self._number, self._documents_now - most - 1)
        item = self._db.execute(_sql.item_of_document, place).fetchone()
        return bool(item and item[0] < self._sequence_of(self._items_now - items))

    def erased(self) -> int:
        """Sequence of the last erasure of the session or its tenant; 0 if there was none."""
        return self._db.execute(_sql.erased, self._place()).fetchone()[0] or 0

    def at(self, sequence: int) -> SessionView:
        """The same session at another sequence."""
        view = SessionView(self._db, self.tenant, self.session, sequence, self._cache)
        view._readable, view._facts_of = self._readable, self._facts_of
        return view

    def recent(self, limit: int) -> list[ItemRow]:
        """The newest items, newest first."""
        return self.span(self._count - limit, self._count - 1)[::-1]

    def of_kind(self, kind: ItemKind, limit: int, before: int | None = None) -> list[ItemRow]:
        """The newest items of a kind, newest first, optionally before an ordinal."""
        count = self._count if before is None else min(before, self._count)
        return self._items("of_kind", kind=kind.value, limit=limit, count=count)

    def first_of_kind(self, kind: ItemKind) -> list[ItemRow]:
        """The oldest item of a kind, if any."""
        return self._items("first_of_kind", kind=kind.value)

    def pinned(self) -> list[ItemRow]:
        """The newest items that their publisher pinned, in order of sequence."""
        return self._items("pinned", limit=MAX_PINS)

    def span(self, first_ordinal: int, last_ordinal: int) -> list[ItemRow]:
        """Items by ordinal, both ends included."""
        first, last = max(first_ordinal, 0), min(last_ordinal, self._count - 1)
        if first not in self._by_ordinal or last not in self._by_ordinal:
            return self._items("span", first=first, last=last)
        return self.places(range(first, last + 1))

    def places(self, ordinals: Iterable[int]) -> list[ItemRow]:
        """Items by ordinal, in order; unknown ones are left out."""
        existing = (ordinal for ordinal in ordinals if 0 <= ordinal < self._count)
        return self._read("places", existing, self._by_ordinal)

    def rows(self, sequences: Iterable[int]) -> list[ItemRow]:
        """Items by log sequence, in order of sequence; unknown ones are left out."""
        return self._read("by_sequence", sequences, self._by_sequence)

    def by_ids(self, ids: Iterable[str]) -> list[ItemRow]:
        """Items by id, in order of sequence; unknown ones are left out."""
        return self._items("by_id", ids=json.dumps(list(ids)))

    def children(self, ids: Iterable[str]) -> list[ItemRow]:
        """Items whose parent_id is one of `ids`, in order of sequence."""
        return self._items("children", ids=json.dumps(list(ids)))

    def flags(self) -> dict[int, tuple[Signal, ...]]:
        """Item's sequence → what the guards saw in it, in order; only items with signals."""
        place = {"session": self._number, "at": self.sequence, "limit": MAX_FLAGS}
        found = self._db.execute(_sql.flags, place).fetchall()
        decoded = ((item, _signals.decode(body)) for item, body, _ in reversed(found))
        return {item: signals for item, signals in decoded if signals}

    def pending(self) -> list[ItemRow]:
        """Items that wait for their envelope, oldest first."""
        at = {"session": self._number, "at": self.sequence}
        return self.rows(item for (item,) in self._db.execute(_sql.pending, at))

    def search(
        self,
        terms: Sequence[str],
        limit: int,
        postings: int = MAX_POSTINGS,
        weights: Mapping[str, float] | None = None,
    ) -> list[Match]:
        """Best matches, best first, ties by newer sequence. `terms` come from `terms.analyse`;
        `postings` and `weights` are as for `IndexSearch.best`."""
        with snapshot(self._db):
            unsealed = self._cache.of(self._db, self._number)
            search = IndexSearch(self._db, self._number, self.sequence, unsealed)
            best = search.best(terms, limit, postings, weights)
            wanted = _written([document for document, _ in best])
            found = self._db.execute(_postings.items_of_documents, (wanted, self._number))
            items = {document: place for document, *place in found}
        matches = (
            Match(sequence, ordinal, passage, score, KINDS[kind])
            for document, score in best
            for sequence, ordinal, passage, kind in (items[document],)
        )
        return sorted(matches, key=lambda match: (-match.score, -match.sequence, match.passage))

    def facts(self, scopes: Sequence[str]) -> list[FactRow]:
        """Those in force, by scope and key."""
        if (key := (self.sequence, *scopes)) not in self._facts_of:
            self._facts_of[key] = self._memories.facts(scopes)
        return list(self._facts_of[key])

    def episodes(self, scopes: Sequence[str], limit: int) -> list[EpisodeRow]:
        """The newest ones of all these scopes."""
        return self._memories.episodes(scopes, limit)

    def scopes(self) -> list[str]:
        """`session:<id>`, and every scope that an item of this session named and its publisher may
        use, in order of first use."""
        named = self._db.execute(_sql.scopes, (self._number, self.sequence))
        known = dict.fromkeys([session_scope(self.session), *(scope for (scope,) in named)])
        return [scope for scope in known if self._readable is None or scope in self._readable]

    def within(self, scopes: Iterable[str]) -> SessionView:
        """The same view with the memory of these scopes only."""
        view = copy(self)  # with the rows read so far
        view._readable = frozenset(scopes)
        return view

    def grants(self) -> ScopeGrants | None:
        row = self._db.execute(_sql.grants, (self.tenant,)).fetchone()
        return None if row is None else _grants.decode(row[0])

    def policy(self) -> tuple[int, ContextPolicy]:
        """The policy in force and its version, as `combined_policy` makes it of the tenant's newest
        and the session's own; version 0 is the default."""
        return encoded_in_force(self._db.execute(_sql.policies, self._place()))

    def catalog(self, name: str) -> tuple[int, Catalog] | None:
        """The newest version of a catalogue of the tenant, with its sequence."""
        row = self._db.execute(_sql.catalog, self._place() | {"name": name}).fetchone()
        return None if row is None else (row[0], _catalog.decode(row[1]))

    def catalog_size(self, name: str) -> int:
        """Bytes of that catalogue, without reading it; 0 if there is none."""
        row = self._db.execute(_sql.catalog_size, self._place() | {"name": name}).fetchone()
        return 0 if row is None else row[0]

    def _place(self) -> dict[str, str | int]:
        return {"tenant": self.tenant, "session": self.session, "at": self.sequence}

    def _sequence_of(self, ordinal: int) -> int:
        place = (self._number, ordinal)
        return int(self._db.execute(_sql.sequence_of_ordinal, place).fetchone()[0])

    def _read(self, by: str, numbers: Iterable[int], known: dict[int, ItemRow]) -> list[ItemRow]:
        """The rows of these ordinals or sequences; those that are not known yet are read."""
        wanted = sorted(set(numbers))
        if missing := [number for number in wanted if number not in known]:
            self._items(by, numbers=_written(missing))
        return [known[number] for number in wanted if number in known]

    def _items(self, by: str, **values: int | str) -> list[ItemRow]:
        values = {"session": self._number, "count": self._count, "at": self.sequence, **values}
        return [self._made(row) for row in self._db.execute(_ITEMS[by], values)]

    def _made(self, row: tuple[Any, ...]) -> ItemRow:
        known = self._by_sequence.get(row[0])
        if known is None:
            known = item_row(row)
            self._by_sequence[known.sequence] = self._by_ordinal[known.ordinal] = known
        return known


def _written(numbers: list[int]) -> str:
    """As SQLite's `json_each` reads them."""
    return msgspec.json.encode(numbers).decode()
