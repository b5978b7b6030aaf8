"""Search over one session: BM25 as the book has it, wherever the postings lie by now."""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path

import pytest
from tests.folded import envelope, model, result

from weft.bm25 import K1, B
from weft.readmodel import search
from weft.readmodel.fold import Fold
from weft.readmodel.model import ReadModel, records_of
from weft.readmodel.postings import BLOCK, LENGTHS, SEGMENT, length_code
from weft.readmodel.store import open_writer, snapshot
from weft.terms import analyse
from weft_schemas.items import ContextItem, ItemKind

WORDS = [f"word{number}" for number in range(60)]


def texts(count: int, seed: int = 1) -> list[str]:
    chosen = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(len(WORDS))]
    return [" ".join(chosen.choices(WORDS, weights, k=chosen.randint(3, 12))) for _ in range(count)]


def items(written: list[str]) -> list[ContextItem]:
    return [ContextItem(f"i{at}", ItemKind.USER_TURN, text) for at, text in enumerate(written)]


def bm25(written: list[str], query: list[str]) -> dict[int, float]:
    """Scores by sequence, over all documents, straight from the definition."""
    counts = [analyse(text) for text in written]
    average = sum(count.total() for count in counts) / len(counts)
    scores: Counter[int] = Counter()
    for term in sorted(set(query)):
        having = sum(term in count for count in counts)
        idf = math.log(1 + (len(counts) - having + 0.5) / (having + 0.5))
        for at, count in enumerate(counts):
            if term in count:
                length = LENGTHS[length_code(count.total())]
                norm = K1 * (1 - B + B * length / average)
                scores[at + 1] += idf * count[term] * (K1 + 1) / (count[term] + norm)
    return scores


@pytest.mark.parametrize("count", [10, SEGMENT - 1, SEGMENT, SEGMENT + 1, 3 * SEGMENT + 17])
@pytest.mark.parametrize("asked", [WORDS[3::17], WORDS[9::5]])
def test_scores_are_those_of_bm25_over_the_session(count: int, asked: list[str]) -> None:
    written = texts(count)
    read = ReadModel.in_memory(records_of(items(written), "t", "s"))
    query = list(analyse(" ".join(asked)))
    expected = bm25(written, query)
    matches = read.view("t", "s").search(query, count, 10_000)
    assert {match.sequence for match in matches} == set(expected)
    for match in matches:
        assert match.score == pytest.approx(expected[match.sequence])
    assert matches == sorted(matches, key=lambda match: (-match.score, -match.sequence))


@pytest.mark.parametrize("seed", range(4))
def test_the_best_few_are_the_first_of_all(seed: int) -> None:
    """Common terms that come last no longer bring in documents, and lose none."""
    read = ReadModel.in_memory(records_of(items(texts(1_500, seed)), "t", "s"))
    chance = random.Random(seed)
    for _ in range(40):
        asked = [*chance.sample(WORDS[20:], 3), *chance.sample(WORDS[:4], 2)]
        query = list(analyse(" ".join(asked)))
        everything = read.view("t", "s").search(query, 1_500, 10_000)
        for limit in (1, 5, 17, 100):
            assert read.view("t", "s").search(query, limit, 10_000) == everything[:limit]


def test_as_of_a_sequence_only_what_was_there_counts() -> None:
    written = texts(2 * SEGMENT + 50)
    read = ReadModel.in_memory(records_of(items(written), "t", "s"))
    query = list(analyse("word1 word9"))
    for at in (1, 5, SEGMENT, SEGMENT + 3, 2 * SEGMENT + 49):
        then = ReadModel.in_memory(records_of(items(written[:at]), "t", "s"))
        assert read.view("t", "s", at).search(query, 300) == then.view("t", "s").search(query, 300)


def test_within_a_snapshot_the_same_is_found() -> None:
    """There, what the view's first query said need not be asked again."""
    written = texts(SEGMENT + 40)
    read = model(*items(written), result("r", "raw"), envelope(SEGMENT + 41, "r", "word1 word9"))
    for run in ("second", "third"):
        query = list(analyse("word1 word9 word30"))
        for at in (None, 3, SEGMENT, SEGMENT + 41):
            alone = read.view("t", "s", at).search(query, 300)
            with snapshot(read.db):
                view = read.view("t", "s", at)
                assert view.search(query, 300) == alone
                assert view.search(query, 300) == alone
        assert alone
        more = envelope(SEGMENT + 41, "r", f"word1 word9 {run}", run)
        Fold(read.db).apply(records_of([more], "t", "s", SEGMENT + 42 + len(run)))
    assert read.db.execute("SELECT count(*) FROM superseded").fetchone()[0] > 0


def test_views_of_one_snapshot_do_not_change_what_each_other_finds() -> None:
    written = texts(2 * SEGMENT + 50)
    read = ReadModel.in_memory(records_of(items(written), "t", "s"))
    query = list(analyse("word1 word9"))
    for at in (5, SEGMENT + 3, len(written) - 1):
        then = ReadModel.in_memory(records_of(items(written[:at]), "t", "s"))
        expected = then.view("t", "s").search(query, 300)
        with snapshot(read.db):
            past, now = read.view("t", "s", at), read.view("t", "s")
            for _ in range(2):
                assert past.search(query, 300) == expected
                assert now.search(query, 300) != expected


def test_other_sessions_change_nothing() -> None:
    own = records_of(items(texts(300)), "t", "s")
    others = records_of(items(texts(400, seed=2)), "t", "s2", first_sequence=301)
    query = list(analyse("word2 word30"))
    alone, among = ReadModel.in_memory(own), ReadModel.in_memory(own + others)
    assert alone.view("t", "s").search(query, 50) == among.view("t", "s").search(query, 50)


def test_batches_change_nothing(tmp_path: Path) -> None:
    log = records_of(items(texts(2 * SEGMENT + 10)), "t", "s")
    found = []
    for size in (1, 100, 1_000):
        db = open_writer(tmp_path / f"{size}.sqlite")
        fold = Fold(db)
        for at in range(0, len(log), size):
            fold.apply(log[at : at + size])
        found.append(ReadModel(db).view("t", "s").search(["word5", "word50"], 100))
        db.close()
    assert found[0] == found[1] == found[2]


def test_postings_go_on_over_the_end_of_a_block() -> None:
    written = [f"filler{at} " + ("needle" if at % 1_000 == 0 else "") for at in range(BLOCK + 600)]
    read = ReadModel.in_memory(records_of(items(written), "t", "s"))
    expected = [at + 1 for at in range(0, BLOCK + 600, 1_000)]
    assert sorted(m.sequence for m in read.view("t", "s").search(["needl"], 50)) == expected
    middle = read.view("t", "s", 2_500).search(["needl"], 50)
    assert sorted(match.sequence for match in middle) == [1, 1001, 2001]


def test_rare_terms_are_found_behind_any_number_of_common_ones() -> None:
    count = search.MAX_POSTINGS + 500
    written = ["common again" for _ in range(count)]
    written[3] = "common again needle"
    read = ReadModel.in_memory(records_of(items(written), "t", "s"))
    best = read.view("t", "s").search(list(analyse("common again needle")), 3)
    assert best[0].sequence == 4
    assert [match.sequence for match in best[1:]] == [count, count - 1]


def test_a_term_that_comes_twice_counts_twice() -> None:
    view = ReadModel.in_memory(records_of(items(texts(300)), "t", "s")).view("t", "s")
    once, other = (view.search([term], 300) for term in ("word17", "word3"))
    expected = Counter({match.sequence: 2 * match.score for match in once})
    expected.update({match.sequence: match.score for match in other})
    found = view.search(["word17", "word3", "word17"], 300)
    assert {match.sequence: match.score for match in found} == pytest.approx(dict(expected))


def test_of_weighted_terms_the_rare_ones_with_much_weight_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "TELLING", 1)
    written = ["the harbour"] * 9 + ["the zeppelin", "the gondola"]
    view = ReadModel.in_memory(records_of(items(written), "t", "s")).view("t", "s")

    def found(**weights: float) -> set[int]:
        matches = view.search(list(weights), 20, weights=weights)
        return {match.sequence for match in matches}

    assert found(harbour=1.0, zeppelin=0.5) == {10}
    assert found(harbour=1.0, zeppelin=0.01) == set(range(1, 10))
    assert found(zeppelin=1.0, gondola=0.9) == {10}


def test_a_word_that_begins_another_does_not_match_it() -> None:
    read = ReadModel.in_memory(records_of(items(["prefixes prefix", "prefixed2"]), "t", "s"))
    assert [m.sequence for m in read.view("t", "s").search(["prefix"], 9)] == [1]


def test_long_words_are_the_same_on_both_sides() -> None:
    word = "a" * 100
    read = ReadModel.in_memory(records_of(items([word, word[:99]]), "t", "s"))
    assert [m.sequence for m in read.view("t", "s").search([word], 9)] == [2, 1]


def test_nothing_is_found_in_nothing() -> None:
    read = ReadModel.in_memory(records_of(items(["something"]), "t", "s"))
    view = read.view("t", "s")
    assert view.search([], 5) == view.search(["absent"], 5) == view.search(["someth"], 0) == []
    assert read.view("t", "unknown").search(["someth"], 5) == []
    assert read.view("t", "s", 0).search(["someth"], 5) == []
