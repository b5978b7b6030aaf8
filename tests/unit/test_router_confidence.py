"""Confidence grows with what speaks for a tool, and only with that."""

import pytest

from weft.router.confidence import Evidence, confidence, evidence_for


def test_a_query_that_is_covered_is_trusted_more() -> None:
    sparse = confidence(Evidence(0.5, 0.1, 0.0))
    assert sparse < confidence(Evidence(0.5, 0.9, 0.0))
    assert sparse < confidence(Evidence(1.5, 0.1, 0.0))


def test_words_that_no_tool_has_speak_against_none() -> None:
    frequencies = {"invoic": 5, "flight": 5}
    best = {"invoic": 0.8}
    plain = evidence_for("invoice", 2.0, best, frequencies, 100)
    with_name = evidence_for("invoice Zachary", 2.0, best, frequencies, 100)
    with_other = evidence_for("invoice flight", 2.0, best, frequencies, 100)
    assert with_name.unknown > 0 == with_other.unknown
    assert confidence(plain) > confidence(with_name) > confidence(with_other)


@pytest.mark.parametrize("query", ["", "the of and", "zzz"])
def test_any_query_has_a_confidence(query: str) -> None:
    assert 0 < confidence(evidence_for(query, 0.0, {}, {}, 0)) < 1
