"""Extractive summaries: within the cap, in order, the same every time."""

import os
import subprocess
import sys

import pytest

from weft import tokens
from weft.summarizer.extract import GAP, ranked, sentences_within, split

ENCODING = "cl100k_base"

STORY = " ".join(
    [
        "The deployment of the billing service failed on Tuesday.",
        *(f"Somebody walked past the window, number {'x' * n}." for n in range(1, 40)),
        "The billing service logged error E4711 while the deployment ran.",
        *(f"It rained a little more than the day before, {'y' * n}." for n in range(1, 40)),
        "Rolling back the deployment of the billing service repaired it.",
    ]
)


@pytest.mark.parametrize("limit", [1, 5, 20, 60, 200])
def test_a_summary_stays_within_its_cap(limit: int) -> None:
    assert tokens.count(sentences_within(STORY, limit, ENCODING), ENCODING) <= limit


def test_it_keeps_the_sentences_that_matter_in_their_order() -> None:
    summary = sentences_within(STORY, 60, ENCODING)
    assert summary.index("failed on Tuesday") < summary.index("E4711") < summary.index("repaired")


def test_a_gap_is_marked() -> None:
    assert GAP in sentences_within(STORY, 60, ENCODING)


def test_a_text_that_fits_is_whole() -> None:
    assert sentences_within("One thing. Another thing.", 50, ENCODING) == (
        "One thing.\nAnother thing."
    )


def test_repeated_sentences_count_once() -> None:
    assert split("Again and again. " * 1_000) == ["Again and again."]


def test_a_sentence_too_long_for_the_cap_is_cut_rather_than_lost() -> None:
    summary = sentences_within("word " * 500, 10, ENCODING)
    assert summary.startswith("word word")


def test_nothing_gives_nothing() -> None:
    assert sentences_within("", 100, ENCODING) == ""
    assert sentences_within("Some text.", 0, ENCODING) == ""


def test_a_megabyte_on_one_line_is_bounded() -> None:
    summary = sentences_within("a" * 1_000_000, 50, ENCODING)
    assert 0 < tokens.count(summary, ENCODING) <= 50


def test_ties_keep_the_order_of_the_text() -> None:
    assert ranked(["aa", "bb", "cc", "dd", "ee", "ff"]) == [0, 5, 1, 2, 3, 4]


def test_the_order_does_not_depend_on_the_hash_seed() -> None:
    code = (
        "from tests.unit.test_summarizer_extract import STORY;"
        "from weft.summarizer.extract import sentences_within;"
        "print(sentences_within(STORY, 80, 'cl100k_base'))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
