"""What a user says becomes a fact; what they ask, suppose or quote does not."""

import pytest
from tests.memory_sentences import MADE, WRITTEN

from weft.memory.derive import facts_said


def stated(text: str) -> dict[str, str]:
    """Values by key."""
    return {one.key: one.value for one in facts_said(text)}


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("my timezone is UTC", {"user_timezone": "UTC"}),
        ("My time zone is now Europe/Berlin. Thanks!", {"user_timezone": "Europe/Berlin"}),
        ("my timezone: UTC+2", {"user_timezone": "UTC+2"}),
        ("I'm on UTC+2 by the way", {"user_timezone": "UTC+2"}),
        ("I think my timezone is UTC, can you check?", {"user_timezone": "UTC"}),
        ("Sure, my user ID is `mia_li_3668`.", {"user_id": "mia_li_3668"}),
        (
            "Hi, I'm Mei Lee and my zip code is 12345.",
            {"user_name": "Mei Lee", "user_zip_code": "12345"},
        ),
        ("my e-mail address is a.b@c.org, ok?", {"user_email": "a.b@c.org"}),
        ("You can reach me at mei@example.org.", {"user_email": "mei@example.org"}),
        ("I live in Lisbon but travel a lot", {"user_location": "Lisbon"}),
        ("I work at Acme", {"user_employer": "Acme"}),
        ("I'm allergic to peanuts.", {"user_allergy_peanuts": "peanuts"}),
        ("I'm allergic to shellfish too", {"user_allergy_shellfish": "shellfish"}),
        ("My name is Ada. Ignore that, my name is Bob actually.", {"user_name": "Bob"}),
        ("I work at Google as a nurse, but not for long", {"user_employer": "Google"}),
        ("I live in the Netherlands", {"user_location": "the Netherlands"}),
        ("My favourite colour is dark green", {"user_favourite_colour": "dark green"}),
        ("my son is Tom", {"user_son": "Tom"}),
        ("my timezone is utc", {"user_timezone": "utc"}),
        ("please remember that I hate mondays", {"note_hate_mondays": "I hate mondays"}),
    ],
)
def test_said(text: str, facts: dict[str, str]) -> None:
    assert stated(text) == facts


@pytest.mark.parametrize(
    "text",
    [
        "Is my timezone UTC?",
        "so my timezone is UTC?",
        "if my timezone is UTC then tell me",
        "I don't know what my timezone is.",
        "my flight is delayed",
        "my question is how this works",
        "Do you remember that we met?",
        "> my timezone is UTC",
        "```\nmy timezone is UTC\n```",
        "I want to use my platform to make a difference",
        "It's amazing to see our team's growth.",
        "my son is ok now",
        "I live in fear of deadlines.",
        "I live in a small flat",
        "I work at night.",
        "I work for myself",
        "My name is spelled with two t's",
        "Don't forget to take breaks",
        "please note that this file is very large",
        "my password is hunter2",
        "remember that my api key is abc",
        "",
    ],
)
def test_not_said(text: str) -> None:
    assert facts_said(text) == []


def invented(turns: tuple[tuple[str, str], ...]) -> list[str]:
    return [text for text, value in turns if not value and facts_said(text)]


def missed(turns: tuple[tuple[str, str], ...]) -> list[str]:
    said = [(text, value) for text, value in turns if value]
    return [text for text, value in said if value not in stated(text).values()]


def test_only_what_somebody_says_of_himself_in_the_indicative_counts() -> None:
    """Also of turns that the rules were not made by."""
    for turns in (WRITTEN, MADE):
        assert invented(turns) == []
    assert missed(WRITTEN) == []
    assert len(missed(MADE)) <= 0.05 * sum(bool(value) for _, value in MADE)


@pytest.mark.parametrize("mark", ["\n", "\r", "\u2028", "\u2029", "\x85", "\v", "\f", "\x1e"])
def test_what_stands_on_several_lines_may_be_pasted(mark: str) -> None:
    assert facts_said(f"hello{mark}my timezone is UTC") == []
    assert facts_said("\nmy timezone is UTC\n") == [("user_timezone", "UTC", ())]


def test_a_preference_is_keyed_by_what_it_is_about() -> None:
    (aisle,), (window,) = facts_said("I prefer aisle seats"), facts_said("I'd prefer window seats")
    assert aisle.key == window.key == "user_preference_seats"
    assert window.value == "window seats"


def test_several_people_do_not_share_a_key() -> None:
    assert facts_said("my job is nurse", "caroline") == [("caroline_job", "nurse", ())]


def test_of_one_key_the_last_counts() -> None:
    said = facts_said("My timezone is UTC. Sorry, my timezone is CET.")
    assert said == [("user_timezone", "CET", ())]


def test_work_and_output_are_bounded() -> None:
    text = "".join(f"my {letter}{n} id is {n}. " for letter in "abcdefgh" for n in range(9_999))
    assert len(facts_said(text)) <= 20
    assert facts_said("my " * 100_000) == []
    assert facts_said("my favourite is " + "x" * 900) == []
    long = facts_said("my favourite word is " + "x" * 900)
    assert long == [("user_favourite_word", "x" * 200, ())]
    assert facts_said("my favourite word is " + "x" * 100_000) == []
    assert facts_said("«“„「'" * 200) == []
