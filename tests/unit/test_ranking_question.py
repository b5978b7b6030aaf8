"""What a request ranks by: terms of the query, names in it, and what its best matches share."""

from weft.compiler.profiles import EXPANSION_TERMS
from weft.compiler.ranking.question import STOP_WORDS, expansion, understand


def test_common_words_and_endings_do_not_count() -> None:
    assert understand("Which boats did they build?").terms == ("boat", "build")


def test_capitalised_words_are_names() -> None:
    assert understand("What did Mia's aunt Ann-Kathrin say?").names >= {"mia", "ann-kathrin"}
    assert understand("what did she say?").names == frozenset()


def test_each_further_use_of_a_term_is_kept() -> None:
    question = understand("The boat, my boats: a blue boat on the lake, and the lake is blue.")
    assert question.terms == ("boat", "blue", "lake")
    assert sorted(question.repeated) == ["blue", "boat", "boat", "lake"]


def test_a_query_of_common_words_alone_keeps_them() -> None:
    assert set(understand("What did you do?").terms) <= STOP_WORDS
    assert understand("What did you do?").terms


def test_terms_that_more_and_better_matches_share_weigh_more() -> None:
    question = understand("Where does the ferry land?")
    texts = ["The ferry leaves the harbour.", "A harbour town.", "Town and quay."]
    made = expansion(texts, question, {"quay"})
    assert list(made) == ["harbour", "town", "leav"]
    assert made["harbour"] > made["town"] > made["leav"]


def test_an_expansion_is_bounded() -> None:
    texts = [" ".join(f"word{at}x" for at in range(300))]
    assert len(expansion(texts, understand("word?"), ())) == EXPANSION_TERMS
