"""Patterns that are searched for only where one of their words stands find no less by that."""

from hypothesis import given
from hypothesis import strategies as st

from weft.memory import statements
from weft.memory.languages import own_languages, said_in, spoken_in, words_of

WORDED = (statements._IMAGINED, statements._HANDED_OVER, statements._SAID_AFTER)


@given(st.sampled_from(WORDED), st.data(), st.sampled_from(("", "x ", "\u017f", "İ ", "é")))
def test_every_match_holds_a_word_of_its_pattern(worded, data, before):
    text = before + data.draw(st.from_regex(worded.pattern))
    plain = worded.pattern.search(text)
    found = worded.search(text, words_of(text))
    assert (plain and plain.span()) == (found and found.span())


PHRASES = [
    phrase
    for language in own_languages().values()
    for phrases in language.says.values()
    for phrase in phrases
]


VALUES = "Lisboa", "ana@example.org", "UTC"


@given(st.sampled_from(PHRASES), st.sampled_from(VALUES), st.booleans())
def test_a_phrases_language_is_among_those_that_are_looked_for(phrase, value, shouted):
    text = phrase.replace("…", value).upper() if shouted else phrase.replace("…", value)
    spoken = spoken_in(text, words_of(text), own_languages())
    assert list(said_in(text, spoken)) == list(said_in(text, own_languages().values()))
