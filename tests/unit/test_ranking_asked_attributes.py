"""A question that names no attribute asks for one by the words with which people state it."""

import pytest

from weft.compiler.ranking.asked_attributes import asked_attributes
from weft.compiler.ranking.question import understand
from weft.memory.derive import facts_said
from weft.memory.languages import own_languages
from weft.terms import words


def asks_for(question: str, key: str) -> bool:
    """By a word of the key or by another one."""
    terms = understand(question).terms
    return not asked_attributes(terms).union(terms).isdisjoint(words(key))


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("Where do I live?", "I live in Berlin."),
        ("Which city am I based in?", "I live in Berlin."),
        ("Who do I work for?", "I work at Acme."),
        ("What's my job?", "I work as a nurse."),
        ("What am I allergic to?", "I'm allergic to nuts."),
        ("Is there anything that I can't eat?", "I'm allergic to nuts."),
        ("What can I eat?", "I'm vegan."),
        ("When was I born?", "I was born on May 4, 1990."),
        ("How old am I?", "My birthday is May 4, 1990."),
        ("What time is it for me?", "my timezone is UTC"),
        ("How can you reach me?", "You can reach me at a@b.example."),
        ("What should you call me?", "My name is Ada."),
        ("Which seats do I like?", "I prefer window seats."),
        ("Wo wohne ich?", "I live in Berlin."),
        ("¿Dónde vivo?", "Vivo en Madrid."),
        ("我住在哪里", "I live in Berlin."),
    ],
)
def test_a_question_asks_for_what_was_stated_in_other_words(question: str, statement: str) -> None:
    (said,) = facts_said(statement)
    assert asks_for(question, said.key)


@pytest.mark.parametrize("question", ["What is the weather?", "Where is my order?", "Thanks!", ""])
def test_other_questions_ask_for_no_attribute(question: str) -> None:
    assert asked_attributes(understand(question).terms) == frozenset()


@pytest.mark.parametrize("name", sorted(own_languages()))
def test_whoever_asks_with_the_words_of_a_phrase_asks_for_its_key(name: str) -> None:
    for key, phrases in own_languages()[name].says.items():
        for phrase in phrases:
            assert asks_for(phrase.replace("…", " "), key), phrase
