"""What a user says becomes a fact; what they ask, suppose or quote does not."""

import pytest
from tests.memory_sentences import MADE, WRITTEN

from weft.memory.statements import facts_said


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
    ("text", "key", "value"),
    [
        ("I'm no longer allergic to nuts", "allergy_nuts", "nuts"),
        ("By the way, I'm not allergic to nuts any more.", "allergy_nuts", "nuts"),
        ("my name isn't Ada (any more)", "name", "Ada"),
        ("My name is not Ada, you know.", "name", "Ada"),
        ("Hi, I'm not Ada.", "name", "Ada"),
        ("Don't call me Ada", "name", "Ada"),
        ("I don't live in Berlin anymore", "location", "Berlin"),
        ("I do not live in Berlin any longer", "location", "Berlin"),
        ("I'm no longer based in Berlin", "location", "Berlin"),
        ("I stopped working at ACME", "employer", "ACME"),
        ("I've stopped working as a nurse", "job", "nurse"),
        ("I stopped being vegan", "diet", "vegan"),
        ("I no longer prefer window seats", "preference_seats", "window seats"),
        ("my timezone is not UTC", "timezone", "UTC"),
        ("my zip code isn't 12345", "zip_code", "12345"),
        ("my locker is no longer B12", "locker", "B12"),
    ],
)
def test_a_negated_statement_withdraws_its_value(text: str, key: str, value: str) -> None:
    assert facts_said(text) == [(f"user_{key}", "", (value,))]


@pytest.mark.parametrize(
    "text",
    [
        "I don't live in Berlin anymore?",
        "Do you know that I don't live in Berlin anymore?",
        "If I no longer live in Berlin, tell me",
        "He says I don't live in Berlin anymore",
        "The mail reads “I don't live in Berlin anymore”",
        "I don't live in fear anymore",
        "I don't work here",
        "I'm not sure",
        "My timezone isn't just UTC",
        "I do not always prefer tea",
        "I don't only live in Berlin",
        "my password isn't hunter2",
        "I don't know.",
    ],
)
def test_no_negation_of_a_fact(text: str) -> None:
    assert facts_said(text) == []


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("Don't call me Bob, call me Rob", "name", "Rob"),
        ("Please don't call me Bob, but Rob.", "name", "Rob"),
        ("Stop calling me Bob, call me Rob Roy!", "name", "Rob Roy"),
        ("I'm not Ada, I'm Eva.", "name", "Eva"),
        ("My name isn't Ada, it's Eva.", "name", "Eva"),
        ("My name is not Ada but Eva", "name", "Eva"),
        ("my name is not Ada — it is Eva", "name", "Eva"),
        ("I live not in Berlin but in Hamburg", "location", "Hamburg"),
        ("I don't live in Berlin but in Hamburg.", "location", "Hamburg"),
        ("I don't live in Berlin any more, but in New York", "location", "New York"),
        ("I do not live in Berlin but Hamburg, you know", "location", "Hamburg"),
        ("I don't work at Acme but at Initech", "employer", "Initech"),
        ("I don't work as a nurse but as an engineer", "job", "engineer"),
        ("I'm not vegan but vegetarian", "diet", "vegetarian"),
        ("my timezone isn't UTC, it's Europe/Berlin", "timezone", "Europe/Berlin"),
        ("my zip code is no longer 12345, it's 54321", "zip_code", "54321"),
        ("I don't prefer window seats but prefer aisle seats", "preference_seats", "aisle seats"),
    ],
)
def test_what_is_said_instead_is_learned(text: str, key: str, value: str) -> None:
    assert facts_said(text) == [(f"user_{key}", value, ())]


def test_an_allergy_to_something_else_is_another_fact() -> None:
    assert facts_said("I'm not allergic to nuts but to milk") == [
        ("user_allergy_nuts", "", ("nuts",)),
        ("user_allergy_milk", "milk", ()),
    ]


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("I don't live in Berlin but Anna does", "location", "Berlin"),
        ("I don't live in Berlin but in fear", "location", "Berlin"),
        ("I don't live in Berlin but in Hamburg they know me", "location", "Berlin"),
        ("I don't live in Berlin but commute", "location", "Berlin"),
        ("I don't work as a nurse but love it", "job", "nurse"),
        ("Don't call me Bob, it's Sunday", "name", "Bob"),
        ("Don't call me Bob but Anna may", "name", "Bob"),
        ("My name isn't Ada, it's a long story", "name", "Ada"),
        ("my timezone isn't UTC, it's complicated", "timezone", "UTC"),
        ("my timezone isn't UTC, it's the one that Bob has", "timezone", "UTC"),
        ("my zip code isn't 12345, it's wrong", "zip_code", "12345"),
        ("My name isn't Ada, it's Eva or Eve", "name", "Ada"),
    ],
)
def test_nothing_is_guessed_where_it_may_be_something_else(text: str, key: str, value: str) -> None:
    assert facts_said(text) == [(f"user_{key}", "", (value,))]


@pytest.mark.parametrize(
    "text",
    [
        "It's not Ada, it's Eva",
        "My name isn't Ada, it's Eva?",
        "He says I live not in Berlin but in Hamburg",
        "I'm not only Ada but Eva",
        "I go not to Berlin but to Hamburg",
        "Ada said don't call me Bob, call me Rob",
    ],
)
def test_no_correction_of_a_fact(text: str) -> None:
    assert facts_said(text) == []


def test_what_a_turn_states_besides_a_negation_stays() -> None:
    for text in (
        "I don't live in Berlin anymore, I live in Paris.",
        "I live in Paris. I don't live in Berlin anymore.",
    ):
        assert facts_said(text) == [("user_location", "Paris", ())]
    assert facts_said("I don't live in Berlin. I don't live in Bonn either.") == [
        ("user_location", "", ("Berlin", "Bonn"))
    ]


def test_an_order_to_remember_a_negation_withdraws_too() -> None:
    said = facts_said("please remember that I no longer live in Berlin")
    assert said[1:] == [("user_location", "", ("Berlin",))]


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
    assert facts_said("my timezone is " + "x" * 900) == [("user_timezone", "x" * 200, ())]
    assert facts_said("my timezone is " + "x" * 100_000) == []
    assert facts_said("«“„「'" * 200) == []
