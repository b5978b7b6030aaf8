"""Whatever happens, in any order: the live read model, a replay of the whole log, and a snapshot
with the tail folded after it say the same."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from weft.log.record import LogRecord
from weft.readmodel.digest import content_digest
from weft.readmodel.fold import Fold
from weft.readmodel.model import records_of
from weft.readmodel.store import open_writer
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.events import (
    EnvelopeEvent,
    ErasedEvent,
    Event,
    FactsEvent,
    MemoryFact,
    Origin,
    ParkedEvent,
    RevivedEvent,
    SessionClosedEvent,
    SummaryEvent,
)
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy, FirewallRules

TENANT = "t"
sessions = st.sampled_from(["s1", "s2", "s3"])
words = st.sampled_from(["alpha", "beta gamma", "gamma alpha", "delta"])
kinds = st.sampled_from([ItemKind.USER_TURN, ItemKind.TOOL_RESULT, ItemKind.DOC_SNIPPET])
numbers = st.integers(0, 30)


class Killed(BaseException):
    """Stands for SIGKILL in the middle of a fold."""


class ReadModelMachine(RuleBasedStateMachine):
    """A log that grows, and a live fold that follows it, dies and comes back."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="weft-rebuild-"))
        self.log: list[LogRecord] = []
        self.items: list[tuple[int, str, ContextItem]] = []
        self.runs = 0
        self.lives = 0
        self.snapshot: Path | None = None
        self.path = self.folder / "live-0.sqlite"
        self.db: sqlite3.Connection = open_writer(self.path)
        self.fold = Fold(self.db)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.all_say_the_same()
            self.db.close()
            shutil.rmtree(self.folder)

    def append(self, session: str, event: Event) -> None:
        sequence = len(self.log) + 1
        self.log += records_of([event], TENANT, session, sequence, sequence)
        if isinstance(event, ContextItem):
            self.items.append((sequence, session, event))

    def some_item(self, number: int) -> tuple[int, str, ContextItem]:
        return self.items[number % len(self.items)]

    @rule(session=sessions, kind=kinds, text=words, parent=st.none() | numbers)
    def publish(self, session: str, kind: ItemKind, text: str, parent: int | None) -> None:
        """The parent may come later, or never."""
        above = None if parent is None else f"i{parent}"
        name = f"i{len(self.log)}"
        item = ContextItem(name, kind, text, parent_id=None if above == name else above)
        self.append(session, item)

    @precondition(lambda self: self.items)
    @rule(number=numbers)
    def publish_again(self, number: int) -> None:
        _, session, item = self.some_item(number)
        self.append(session, item)

    @precondition(lambda self: self.items)
    @rule(number=numbers, text=words)
    def publish_other_content_under_the_same_id(self, number: int, text: str) -> None:
        _, session, item = self.some_item(number)
        self.append(session, ContextItem(item.id, item.kind, f"{text} again"))

    @precondition(lambda self: self.items)
    @rule(number=numbers, text=words, again=st.booleans())
    def derive(self, number: int, text: str, again: bool) -> None:
        """What the live workers make; with `again` what a later run makes of the same source."""
        sequence, session, item = self.some_item(number)
        self.runs += again
        run = f"run-{self.runs}" if again else ""
        if item.kind is ItemKind.USER_TURN:
            summary = SummaryEvent(Origin(sequence, item.id, "summarizer", run=run), text, 2, "x")
            fact = MemoryFact("name", text, (item.id,))
            facts = FactsEvent(Origin(sequence, item.id, "memory", run=run), "user:1", (fact,))
            self.append(session, summary)
            self.append(session, facts)
        else:
            origin = Origin(sequence, item.id, "firewall", run=run)
            self.append(session, EnvelopeEvent(origin, ResultEnvelope(text)))

    @precondition(lambda self: self.items)
    @rule(number=numbers, revived=st.booleans(), drop=st.booleans())
    def park(self, number: int, revived: bool, drop: bool) -> None:
        sequence, session, item = self.some_item(number)
        origin = Origin(sequence, item.id, "firewall")
        self.append(session, ParkedEvent(origin, "failed", "no", 3))
        if revived:
            self.append(session, RevivedEvent(origin, drop))

    @rule(session=sessions)
    def close_session(self, session: str) -> None:
        self.append(session, SessionClosedEvent())

    @rule(session=st.none() | sessions, every=st.booleans())
    def set_policy(self, session: str | None, every: bool) -> None:
        untrusted = tuple(ItemKind) if every else (ItemKind.TOOL_RESULT,)
        policy = ContextPolicy(session=session, firewall=FirewallRules(untrusted_kinds=untrusted))
        self.append("s1", policy)

    @rule(session=sessions)
    def erase(self, session: str) -> None:
        self.append(session, ErasedEvent(session))

    @rule(session=sessions, payload=st.sampled_from([b"", b"{", b'{"type":"envelope"}', b"\xff"]))
    def publish_garbage(self, session: str, payload: bytes) -> None:
        sequence = len(self.log) + 1
        subject = f"w.in.0.{TENANT}.{session}.user_turn"
        self.log.append(LogRecord(sequence, subject, sequence, payload))

    @rule(count=st.integers(1, 10), overlap=st.integers(0, 3))
    def follow(self, count: int, overlap: int) -> None:
        """Fold what comes next; some of what is folded is delivered again."""
        done = self.fold.checkpoint
        self.fold.apply(self.log[max(0, done - overlap) : done + count])

    @rule(count=st.integers(1, 10), at=st.sampled_from(["decode", "work", "commit"]))
    def die_while_following(self, count: int, at: str) -> None:
        """The files as they are at that step are all that is left."""
        self.lives += 1
        left = self.folder / f"live-{self.lives}.sqlite"

        def step(name: str) -> None:
            if name == at:
                for part in ("", "-wal"):
                    shutil.copy(f"{self.path}{part}", f"{left}{part}")
                raise Killed

        done = self.fold.checkpoint
        with pytest.raises(Killed):
            self.fold.apply(self.log[done : done + count], step=step)
        self.db.close()
        self.path, self.db = left, open_writer(left)
        self.fold = Fold(self.db)
        assert self.fold.checkpoint >= done

    @rule()
    def take_a_snapshot(self) -> None:
        self.snapshot = self.folder / "snapshot.sqlite"
        self.snapshot.unlink(missing_ok=True)
        copy = sqlite3.connect(self.snapshot)
        self.db.backup(copy)
        copy.close()

    @rule()
    def all_say_the_same(self) -> None:
        self.fold.apply(self.log)
        live = content_digest(self.db)
        assert content_digest(folded(self.log, ":memory:")) == live
        if self.snapshot is not None:
            restored = self.folder / "restored.sqlite"
            shutil.copy(self.snapshot, restored)
            db = folded(self.log, restored)
            assert content_digest(db) == live
            db.close()
            for left in self.folder.glob("restored.sqlite*"):
                left.unlink()


def folded(log: list[LogRecord], path: Path | str) -> sqlite3.Connection:
    """All of the log that the file does not hold yet, one record at a time."""
    db = open_writer(path)
    fold = Fold(db)
    for start in range(fold.checkpoint, len(log), 7):
        fold.apply(log[start : start + 7])
    return db


TestRebuildEqualsLive = ReadModelMachine.TestCase
TestRebuildEqualsLive.settings = settings(
    max_examples=30,
    stateful_step_count=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
