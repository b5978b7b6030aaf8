"""The unsealed end of a session's index: searches over one connection find what a first one would,
whatever happened in between."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft.readmodel import unsealed_postings
from weft.readmodel.fold import Fold
from weft.readmodel.model import ReadModel, records_of
from weft.readmodel.postings import SEGMENT
from weft.readmodel.rows import Match
from weft.readmodel.store import open_writer
from weft_schemas.events import ErasedEvent, Event
from weft_schemas.items import ContextItem, ItemKind

WORDS = [f"word{number}" for number in range(40)]
QUERIES = (WORDS[:3], WORDS[5:30], ["word7", "word7", "absent"])


class Log:
    """A file that is written on while one connection reads it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fold = Fold(open_writer(path))
        self._chosen = random.Random(3)
        self.sequence = 0
        self.reader = ReadModel.open(path)

    def append(self, session: str, *events: Event) -> None:
        self._fold.apply(records_of(events, "t", session, self.sequence + 1))
        self.sequence += len(events)

    def say(self, session: str, count: int, words: int = 6) -> None:
        weights = [1 / (rank + 1) for rank in range(len(WORDS))]
        said = (" ".join(self._chosen.choices(WORDS, weights, k=words)) for _ in range(count))
        first = self.sequence
        self.append(
            session,
            *(
                ContextItem(f"i{first + at}", ItemKind.USER_TURN, text)
                for at, text in enumerate(said)
            ),
        )

    def found(self, read: ReadModel, session: str, at: int | None = None) -> list[list[Match]]:
        view = read.view("t", session, at)
        return [view.search(query, 50, 5_000) for query in QUERIES]

    def check(self, session: str, at: int | None = None) -> None:
        fresh = ReadModel.open(self._path)
        expected = self.found(fresh, session, at)
        fresh.close()
        assert self.found(self.reader, session, at) == expected


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    made = Log(tmp_path / "model.sqlite")
    yield made
    made.reader.close()


def test_a_session_that_grows_is_searched_as_if_for_the_first_time(log: Log) -> None:
    for count in (1, 5, 90, SEGMENT - 97, 1, 2, 40, SEGMENT, 7):
        log.say("s", count)
        log.check("s")
    for at in (1, 50, SEGMENT, SEGMENT + 1, log.sequence - 20, log.sequence):
        log.check("s", at)
    log.check("s")


def test_a_long_text_is_found_beside_short_ones(log: Log) -> None:
    for _ in range(3):
        log.say("s", 4)
        log.say("s", 1, 5_000)
        log.check("s")
    log.check("s", 5)


@pytest.mark.parametrize("indexed", [True, False])
def test_a_search_that_ends_early_has_read_the_newest(indexed: bool) -> None:
    held = unsealed_postings.UnsealedPostings(SEGMENT)
    texts = [("x", b"\xff") if at % 2 else ("x\ny", b"\1\1") for at in range(6)]
    held.extend([(SEGMENT + at, 9, *text) for at, text in enumerate(texts)])
    if indexed:
        held.index()
    wanted = ["x", "y", *map(str, range(8))]
    found = held.lookup(wanted, SEGMENT + 5)
    assert [one >> 16 for one in found["x"]] == [SEGMENT + at for at in (4, 3, 2, 1, 0)]
    assert [one >> 16 for one in found["y"]] == [SEGMENT + at for at in (4, 2, 0)]
    assert found == {**held.lookup(["x"], SEGMENT + 5), **held.lookup(["y"], SEGMENT + 5)}


def test_nothing_of_an_erased_session_is_found_under_the_number_that_comes_again(log: Log) -> None:
    log.say("gone", 30)
    for _ in range(2):
        assert any(log.found(log.reader, "gone"))
    log.append("gone", ErasedEvent("gone"))
    assert not any(log.found(log.reader, "gone"))
    log.append("new", ContextItem("n", ItemKind.USER_TURN, "word1 and nothing else"))
    assert [match.sequence for match in log.found(log.reader, "new")[0]] == [log.sequence]
    log.check("new")


def test_an_erasure_leaves_no_text_of_any_session_with_the_reader(log: Log) -> None:
    for _ in range(2):
        log.say("gone", 30)
        log.say("stays", 3)
        log.found(log.reader, "gone")
        log.found(log.reader, "stays")
    log.append("gone", ErasedEvent("gone"))
    log.check("stays")
    assert list(log.reader._unsealed._cached) == [2]


def test_what_is_kept_has_a_bound(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsealed_postings, "CACHED_CHARACTERS", 2_000)
    for _ in range(3):
        for session in ("a", "b", "c"):
            log.say(session, 9)
            log.check(session)
    kept = log.reader._unsealed
    assert 0 < kept._characters == sum(one.characters for one in kept._cached.values()) <= 2_000
    log.say("big", 100)
    log.check("big")
    assert (kept._characters, len(kept._cached)) == (0, 0)
    log.check("a")


@pytest.mark.parametrize("text", ["!", "word7"], ids=["without words", "short"])
def test_many_small_sessions_are_not_all_kept(
    log: Log, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 5
    limit = most * (len("word7") + unsealed_postings.SESSION_CHARACTERS)
    monkeypatch.setattr(unsealed_postings, "CACHED_CHARACTERS", limit)
    for number in range(4 * most):
        log.append(f"s{number}", ContextItem("i", ItemKind.USER_TURN, text))
        log.found(log.reader, f"s{number}")
    assert len(log.reader._unsealed._cached) == most
