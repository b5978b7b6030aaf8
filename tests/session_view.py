"""A SessionView over a plain list of items: for tests of the compile that need no log.

Tool results go through the real firewall.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from weft import tokens
from weft.firewall.derive import envelope_for
from weft.readmodel.rows import EpisodeRow, FactRow, ItemRow, Match
from weft.readmodel.terms import analyse
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.events import Origin
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy
from weft_schemas.routing import Catalog

K1, B = 1.2, 0.75


class ListView:
    def __init__(
        self,
        items: Sequence[ContextItem],
        policy: ContextPolicy | None = None,
        facts: Sequence[FactRow] = (),
        episodes: Sequence[EpisodeRow] = (),
        pending: Sequence[str] = (),
        encoding: str = tokens.DEFAULT_ENCODING,
        cache: dict | None = None,
    ) -> None:
        self.tenant, self.session, self.encoding = "t", "s", encoding
        self._policy = policy or ContextPolicy()
        self._facts, self._episodes = list(facts), list(episodes)
        self._rows: list[ItemRow] = []
        self._terms = []
        cache = {} if cache is None else cache
        for item in items:
            row, terms = cache.get(item.id) or self._row(item, len(self._rows), item.id in pending)
            cache[item.id] = row, terms
            self._rows.append(row)
            self._terms.append(terms)
        self._ids = {row.id: row for row in self._rows}
        self._by_sequence = {row.sequence: row for row in self._rows}
        self.sequence = self._rows[-1].version if self._rows else 0

    def _row(self, item: ContextItem, ordinal: int, pending: bool):
        sequence = 2 * ordinal + 1
        text, envelope = item.text, None
        if item.kind is ItemKind.TOOL_RESULT and not pending:
            envelope = self._envelope(item, sequence)
            text = envelope.summary
        row = ItemRow(
            sequence=sequence,
            ordinal=ordinal,
            id=item.id,
            kind=item.kind,
            text="" if pending else text,
            tokens=0 if pending else tokens.count(text, self.encoding),
            version=sequence + (envelope is not None),
            parent_id=item.parent_id,
            sensitivity=item.sensitivity,
            metadata=item.metadata,
            published_ns=1_700_000_000_000_000_000 + ordinal,
            pending=pending,
            envelope=envelope,
        )
        return row, analyse(row.text)

    def _envelope(self, item: ContextItem, sequence: int) -> ResultEnvelope:
        event = envelope_for(
            item,
            item.text,
            origin=Origin(sequence, item.id, "firewall"),
            rules=self._policy.firewall,
            fingerprint_key=b"",
            encoding=self.encoding,
            tenant=self.tenant,
            session=self.session,
        )
        return event.envelope

    def at(self, sequence: int) -> ListView:
        return self

    def item_count(self) -> int:
        return len(self._rows)

    def recent(self, limit: int) -> list[ItemRow]:
        return self._rows[::-1][:limit]

    def of_kind(self, kind: ItemKind, limit: int) -> list[ItemRow]:
        return [row for row in reversed(self._rows) if row.kind is kind][:limit]

    def search(
        self,
        terms: Sequence[str],
        limit: int,
        postings: int = 2_000,
        weights: Mapping[str, float] | None = None,
    ) -> list[Match]:
        """Reads all terms, weighted ones too: these sessions are short."""
        count = len(self._rows)
        lengths = [sum(held.values()) for held in self._terms]
        average = sum(lengths) / count if count else 1.0
        scores: dict[int, float] = {}
        for term, asked in Counter(terms).items():
            hits = [at for at, held in enumerate(self._terms) if term in held]
            idf = asked * math.log(1 + (count - len(hits) + 0.5) / (len(hits) + 0.5))
            for at in hits:
                often = self._terms[at][term]
                norm = K1 * (1 - B + B * lengths[at] / average)
                scores[at] = scores.get(at, 0.0) + idf * often * (K1 + 1) / (often + norm)
        ranked = sorted(scores, key=lambda at: (-scores[at], -at))[:limit]
        return [Match(self._rows[at].sequence, at, scores[at]) for at in ranked]

    def rows(self, sequences: Iterable[int]) -> list[ItemRow]:
        found = (self._by_sequence.get(sequence) for sequence in sorted(set(sequences)))
        return [row for row in found if row is not None]

    def span(self, first_ordinal: int, last_ordinal: int) -> list[ItemRow]:
        return self._rows[max(first_ordinal, 0) : last_ordinal + 1]

    def places(self, ordinals: Iterable[int]) -> list[ItemRow]:
        return [self._rows[at] for at in sorted(set(ordinals)) if 0 <= at < len(self._rows)]

    def by_ids(self, ids: Iterable[str]) -> list[ItemRow]:
        found = {row.sequence: row for item_id in ids if (row := self._ids.get(item_id))}
        return [found[sequence] for sequence in sorted(found)]

    def children(self, ids: Iterable[str]) -> list[ItemRow]:
        wanted = set(ids)
        return [row for row in self._rows if row.parent_id in wanted]

    def pending(self) -> list[ItemRow]:
        return [row for row in self._rows if row.pending]

    def facts(self, scopes: Sequence[str]) -> list[FactRow]:
        return [fact for fact in self._facts if fact.scope in scopes]

    def episodes(self, scopes: Sequence[str], limit: int) -> list[EpisodeRow]:
        return [episode for episode in self._episodes if episode.scope in scopes][:limit]

    def scopes(self) -> list[str]:
        named = [f"session:{self.session}"]
        named += [row.metadata["scope"] for row in self._rows if row.metadata.get("scope")]
        return list(dict.fromkeys(named))

    def policy(self) -> tuple[int, ContextPolicy]:
        return 0, self._policy

    def catalog(self, name: str) -> tuple[int, Catalog] | None:
        return None
