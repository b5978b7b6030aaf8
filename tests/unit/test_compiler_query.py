"""What a request ranks by: terms of the query, names in it, and what its best matches share."""

from weft.compiler.query import EXPANSION, STOP_WORDS, expansion, understand


def test_what_kind_of_thing_is_asked_for_is_asked_by_its_name_alone() -> None:
    assert understand("What kind of boats do they build?").terms == ("boat", "build")
    assert understand("Which types of boat are kind to the sea?").terms == ("boat", "kind", "sea")


def test_a_query_asks_for_an_event_or_for_what_is_so() -> None:
    assert understand("When is the regatta?").event
    assert understand("What did Mia build?").event
    assert not understand("What does Mia build?").event
    assert not understand("Which wasps have they seen?").event


def test_each_further_use_of_a_term_is_kept() -> None:
    question = understand("The boat, my boats: a blue boat on the lake, and the lake is blue.")
    assert question.terms == ("boat", "blue", "lake")
    assert sorted(question.again) == ["blue", "boat", "boat", "lake"]


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
    assert len(expansion(texts, understand("word?"), ())) == EXPANSION
