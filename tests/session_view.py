"""A session's view made of a list of items: for tests of the compile that need no log.

The items go through the real fold, tool results through the real firewall before it. The item at
place n has the sequence 2n + 1, its envelope the one after.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from msgspec.json import decode
from msgspec.json import encode as encoded
from msgspec.structs import replace

from weft import tokens
from weft.firewall.derive import envelope_for
from weft.log.record import LogRecord
from weft.readmodel.model import ReadModel, records_of
from weft.readmodel.rows import EpisodeRow, FactRow
from weft.readmodel.view import SessionView
from weft_schemas.events import EnvelopeEvent, Event, Origin
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy, FirewallRules

BEGAN_NS = 1_700_000_000_000_000_000
"""When the first item was published."""


class ListView(SessionView):
    """The session `s` of tenant `t`, as it stands after these items. `pending` are the ids of tool
    results whose envelopes are not there; memory and policy are what they are said to be."""

    def __init__(
        self,
        items: Sequence[ContextItem],
        policy: ContextPolicy | None = None,
        facts: Sequence[FactRow] = (),
        episodes: Sequence[EpisodeRow] = (),
        pending: Sequence[str] = (),
        encoding: str = tokens.DEFAULT_ENCODING,
    ) -> None:
        self._given_policy = policy or ContextPolicy()
        self._facts, self._episodes = list(facts), list(episodes)
        records: list[LogRecord] = []
        for place, item in enumerate(items):
            records += _record(item, place, 2 * place + 1)
            if item.kind is ItemKind.TOOL_RESULT and item.id not in pending:
                made = _envelope(encoded(item), encoded(self._given_policy.firewall), encoding)
                origin = Origin(2 * place + 1, item.id, "firewall")
                records += _record(replace(made, origin=origin), place, 2 * place + 2)
        self._model = ReadModel.in_memory(records, encoding)
        super().__init__(self._model.db, "t", "s")

    def at(self, sequence: int) -> ListView:
        return self

    def facts(self, scopes: Sequence[str]) -> list[FactRow]:
        return [fact for fact in self._facts if fact.scope in scopes]

    def episodes(self, scopes: Sequence[str], limit: int) -> list[EpisodeRow]:
        return [episode for episode in self._episodes if episode.scope in scopes][:limit]

    def policy(self) -> tuple[int, ContextPolicy]:
        return 0, self._given_policy


def _record(event: Event, place: int, sequence: int) -> list[LogRecord]:
    return records_of([event], "t", "s", sequence, BEGAN_NS + place)


@lru_cache(maxsize=4_096)
def _envelope(item: bytes, rules: bytes, encoding: str) -> EnvelopeEvent:
    """Without its origin. Sessions that grow show the same results again and again."""
    made = decode(item, type=ContextItem)
    return envelope_for(
        made,
        made.text,
        origin=Origin(1),
        rules=decode(rules, type=FirewallRules),
        fingerprint_key=b"",
        encoding=encoding,
        tenant="t",
        session="s",
    )
