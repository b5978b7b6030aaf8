"""BM25: what the formula says of a few documents."""

from collections import Counter
from math import log

from weft.bm25 import Index, inverse_document_frequency, scores

CAT = Counter({"cat": 2, "mat": 1})
DOG = Counter({"dog": 1, "mat": 1})
LONG = Counter({"cat": 2, "filler": 40})


def test_a_document_without_a_term_of_the_query_scores_nothing() -> None:
    assert scores([CAT, DOG], {"cat": 1.0})[1] == 0.0


def test_a_rare_term_tells_more_than_a_common_one() -> None:
    held = [CAT, DOG, Counter({"mat": 1})]
    assert scores(held, {"dog": 1.0})[1] > scores(held, {"mat": 1.0})[1] > 0


def test_a_long_document_is_worth_less_for_the_same_term() -> None:
    short, long = scores([CAT, LONG], {"cat": 1.0})
    assert short > long > 0


def test_a_weight_multiplies_what_its_term_is_worth() -> None:
    once, thrice = (scores([CAT, DOG], {"cat": weight}) for weight in (1.0, 3.0))
    assert thrice == [3 * score for score in once]


def test_no_documents_have_no_scores() -> None:
    assert scores([], {"cat": 1.0}) == []


def test_a_term_of_average_length_documents_scores_as_the_formula_says() -> None:
    found = scores([Counter({"a": 1}), Counter({"b": 1})], {"a": 1.0})
    assert found == [log(1 + 1.5 / 1.5), 0.0]
    assert inverse_document_frequency(2, 1) == log(2)


def test_an_index_scores_as_a_single_question_does() -> None:
    held = [CAT, DOG, LONG]
    query = {"cat": 2.0, "mat": 1.0, "unknown": 1.0}
    assert Index(held).scores(query) == scores(held, query)
