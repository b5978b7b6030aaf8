"""Text into terms: folding, stemming, irregular forms; and that the quick way says the same."""

import random

import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from weft.terms import SomeTerms, analyse, words


def test_words_are_folded_and_stemmed_in_their_order() -> None:
    assert words("Orders, ordering: ORDER-42 user_id") == [
        "order",
        "order",
        "order",
        "42",
        "user",
        "id",
    ]


def test_irregular_forms_stand_under_their_root() -> None:
    assert words("bought buys children") == ["buy", "buy", "child"]


def test_ascii_text_reads_as_it_does_within_other_text() -> None:
    rng = random.Random(3)
    for _ in range(500):
        text = "".join(chr(rng.randrange(128)) for _ in range(200))
        assert [*words(text), "é"] == words(f"{text} é")


def test_a_long_number_is_its_own_term_as_a_stemmer_says() -> None:
    stemmer, rng = Stemmer.Stemmer("english"), random.Random(4)
    digits = ("0123456789", "\u0660\u0661\u0662\u0663\u0664", "\uff10\uff11\uff12\uff13")
    for _ in range(2_000):
        number = "".join(rng.choices(rng.choice(digits), k=rng.randint(1, 30)))
        assert words(number) == [stemmer.stemWord(number)]


def test_a_word_that_came_before_has_the_same_term() -> None:
    long = "x" * 60 + "ing"
    assert words(f"running {long} running {long}") == words(f"running {long}") * 2


def test_terms_are_counted() -> None:
    assert analyse("to be, or not to be: Über über") == {
        "to": 2,
        "be": 2,
        "or": 1,
        "not": 1,
        "über": 2,
    }


@given(st.text(), st.lists(st.sampled_from(["die", "go", "citi", "run", "x", "weft", "é"])))
def test_counts_of_some_terms_are_those_of_all(text: str, terms: list[str]) -> None:
    forms = "dying went cities Running X wefts é going lying die "
    whole_text = f"{text} {forms}"
    whole, some = analyse(whole_text), SomeTerms(terms).counts(whole_text)
    assert {term: some[term] for term in terms} == {term: whole[term] for term in terms}
    assert some.total() == whole.total()


def test_chinese_and_kana_are_searched_by_pairs_and_apart_from_what_stands_beside_them() -> None:
    """There are no blanks between their words, nor around an identifier."""
    assert words("编号为S-1288的公司") == ["编号", "号为", "s", "1288", "的公", "公司"]
    assert words("東京 Tower は") == ["東京", "tower", "は"]
    assert words("Müller geht") == ["müller", "geht"]
