"""Patterns that are searched for only where one of their words stands find no less by that."""

from hypothesis import given
from hypothesis import strategies as st

from weft.memory import statements
from weft.memory.languages import own_languages, said_in, spoken_in, words_of

WORDED = (
    statements._IMAGINED, statements._DOUBTED, statements._HANDS_OVER, statements._HANDED_OVER,
    statements._SAID_AFTER, statements._MINE, statements._FORGET, statements.REMEMBER,
)  # fmt: skip


@given(st.sampled_from(WORDED), st.data(), st.sampled_from(("", "x ", "\u017f", "İ ", "é")))
def test_every_match_holds_a_word_of_its_pattern(worded, data, before):
    text = before + data.draw(st.from_regex(worded.pattern))
    plain = worded.pattern.search(text)
    found = worded.search(text, words_of(text))
    assert (plain and plain.span()) == (found and found.span())


VALUES_OF = {
    "name": (
        "Ada", "Ada speaking", "Ada here", "Ada calling, hello", "Mary-Ann Lee", "Ada. Call me Eve",
    ),
    "timezone": ("UTC+2", "+05:30", "Europe/Berlin", "the Pacific time", "CET, ok"),
    "diet": ("gluten-free", "Plant based", "vegan)", "low carb", "“keto”"),
    "email": ("a@b.example",),
}  # fmt: skip
"""In the forms of patterns whose words stand in the value, or beside it."""


@given(st.sampled_from(statements.PATTERNS), st.data(), st.sampled_from(("", "x, ", "Hi. ", "é ")))
def test_every_statement_holds_a_word_of_its_pattern(pattern, data, before):
    values = VALUES_OF.get(pattern.key, ("Rome", "nuts and milk", "May 1990", "a nurse", "seats"))
    opening = data.draw(st.from_regex(pattern.pattern, fullmatch=True))
    value = pattern.pattern.search(opening)["value"]
    text = before + opening.removesuffix(value) + data.draw(st.sampled_from(values))
    if any(pattern.form(match["value"]) for match in pattern.pattern.finditer(text)):
        assert not pattern.words.isdisjoint(words_of(text))
        assert statements.may_state(words_of(text))


@given(st.text())
def test_words_of_ascii_are_those_of_any_text(text):
    assert words_of(text) | {"é"} == words_of(f"{text} é")


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
