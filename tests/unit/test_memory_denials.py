"""A negated statement withdraws a fact; what is so instead becomes one."""

import pytest

from weft.memory.derive import facts_said


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
        ("I quit working at ACME", "employer", "ACME"),
        ("I have just stopped working at ACME", "employer", "ACME"),
        ("Stop calling me Ada", "name", "Ada"),
        ("my pronouns AREN'T they", "pronouns", "they"),
        ("I stopped being vegan", "diet", "vegan"),
        ("I no longer prefer window seats", "preference_seats", "window seats"),
        ("my timezone is not UTC", "timezone", "UTC"),
        ("my zip code isn't 12345", "zip_code", "12345"),
        ("my locker is no longer B12", "locker", "B12"),
        ("I don't live in Berlin now", "location", "Berlin"),
        ("I don't work at Acme Inc any more", "employer", "Acme Inc"),
        ("I'm not allergic to nuts after all", "allergy_nuts", "nuts"),
        ("I'm not allergic to tree nuts any more", "allergy_tree_nuts", "tree nuts"),
        ("My email isn't a@b.example any more", "email", "a@b.example"),
        ("I no longer have an allergy to peanuts", "allergy_peanuts", "peanuts"),
        ("I don't have any allergy to nuts any more.", "allergy_nuts", "nuts"),
        ("I have no allergy to nuts", "allergy_nuts", "nuts"),
        ("I stopped being allergic to nuts", "allergy_nuts", "nuts"),
        ("I used to be allergic to nuts", "allergy_nuts", "nuts"),
        ("I used to live in Berlin, by the way", "location", "Berlin"),
        ("I used to work at Acme", "employer", "Acme"),
        ("I'm not living in Berlin any more", "location", "Berlin"),
        ("I moved away from Berlin", "location", "Berlin"),
        ("I've just moved out of Berlin", "location", "Berlin"),
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
        "I used to think so",
        "I'm used to Berlin",
        "Did I use to live in Berlin?",
        "I moved out of my flat",
        "I have no idea",
        "I have no allergies",
        "We don't use Postgres any more",
        "He no longer has a peanut allergy",
        "Do I no longer have a peanut allergy?",
        "My peanut allergy is bad",
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


def test_a_longer_name_that_begins_the_same_stays() -> None:
    text = "I work at Acme Health. I don't work at Acme any more."
    assert facts_said(text) == [("user_employer", "Acme Health", ())]
    text = "I work at Acme Inc. I don't work at Acme any more."
    assert facts_said(text) == [("user_employer", "", ("Acme",))]


def test_an_order_to_remember_a_negation_withdraws_too() -> None:
    said = facts_said("please remember that I no longer live in Berlin")
    assert said[1:] == [("user_location", "", ("Berlin",))]


def test_several_allergies_are_denied_at_once() -> None:
    assert facts_said("I'm not allergic to nuts, milk or eggs any more") == [
        (f"user_allergy_{one}", "", (one,)) for one in ("nuts", "milk", "eggs")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "I no longer have a peanut allergy",
        "I don't have a peanut allergy any more.",
        "I don't have my peanut allergy anymore",
        "I've outgrown my peanut allergy",
        "I outgrew my peanut allergy, luckily",
        "I have no peanut allergy",
        "I used to have a peanut allergy",
        "My peanut allergy is gone",
        "By the way, my peanut allergy has disappeared.",
    ],
)
def test_a_thing_before_the_word_allergy_may_have_been_named_in_the_plural(text: str) -> None:
    assert facts_said(text) == [
        ("user_allergy_peanut", "", ("peanut",)),
        ("user_allergy_peanuts", "", ("peanuts",)),
    ]


def test_several_things_before_the_word_allergies_are_denied_at_once() -> None:
    said = facts_said("I no longer have tree nut and cherry allergies")
    assert [one.negated for one in said] == [
        ("tree nut",), ("tree nuts",), ("cherry",), ("cherries",),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Forget my email", "email"),
        ("Please forget my e-mail address.", "email"),
        ("please forget about my time zone, please", "timezone"),
        ("Forget my new phone number!", "phone_number"),
    ],
)
def test_what_is_to_be_forgotten_has_no_value(text: str, key: str) -> None:
    assert facts_said(text) == [(f"user_{key}", "", ())]


@pytest.mark.parametrize(
    "text",
    [
        "Forget my last message",
        "Did you forget my email?",
        "I always forget my email",
        "Forget my email program, it is broken",
        '"Forget my email"',
        "Forget my password",
    ],
)
def test_nothing_is_to_be_forgotten(text: str) -> None:
    assert facts_said(text) == []


def test_what_was_stated_before_a_wish_to_forget_it_is_gone() -> None:
    said = facts_said("My email is a@b.example. Forget my email.")
    assert said == [("user_email", "", ())]
