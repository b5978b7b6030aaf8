"""memory_fact items: the forms in which a fact can be given outright."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given as given_examples
from hypothesis import strategies as st

from weft.facts.memory_fact import facts_named, parsed_facts


def given(text: str, **metadata: Any) -> list[tuple[str, str]]:
    return parsed_facts(metadata, text)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("user_timezone=UTC", [("user_timezone", "UTC")]),
        ("a = 1\nb=two words", [("a", "1"), ("b", "two words")]),
        ("a=1; b=2", [("a", "1"), ("b", "2")]),
        ("Customer tier: gold", [("customer_tier", "gold")]),
        ('{"key": "user_timezone", "value": "UTC"}', [("user_timezone", "UTC")]),
        ('{"seats": 3, "meals": ["veg"]}', [("seats", "3"), ("meals", '["veg"]')]),
        ('{"a": 1, "p": {"tz": "}{,"}, "c": {}}', [("a", "1"), ("p", '{"tz":"}{,"}'), ("c", "{}")]),
        (
            "The customer waits for a call",
            [("note_customer_waits_call", "The customer waits for a call")],
        ),
    ],
)
def test_given(text: str, facts: list[tuple[str, str]]) -> None:
    assert given(text) == facts


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('a"{}[],\\ \n', max_size=6),
    lambda held: st.lists(held, max_size=3) | st.dictionaries(st.text("ab{,", max_size=3), held),
    max_leaves=12,
)


@given_examples(st.dictionaries(st.text("abc", min_size=1, max_size=3), _JSON, min_size=1))
def test_each_field_of_any_object_gives_its_value(held: dict[str, Any]) -> None:
    given = facts_named({}, json.dumps(held, indent=1))
    assert [one.key for one in given] == list(held)
    for one, value in zip(given, held.values(), strict=True):
        if isinstance(value, dict | list):
            assert one.value.split() == msgspec.json.encode(value).decode().split()


def test_the_metadata_can_name_the_key() -> None:
    assert given("UTC", key="user_timezone") == [("user_timezone", "UTC")]
    assert given("", key="user_timezone", value="UTC") == [("user_timezone", "UTC")]


@pytest.mark.parametrize("text", ["", "   ", "password=hunter2", '{"api_key": "x"}', "{}"])
def test_nothing_and_secrets_give_no_fact(text: str) -> None:
    assert [key for key, _ in given(text) if key != "note"] == []


@pytest.mark.parametrize("text", ["tz=", "tz = null", '{"tz": null}', '{"tz": ""}', "seat=1\ntz="])
def test_null_and_nothing_withdraw(text: str) -> None:
    assert given(text)[-1] == ("tz", "")


def test_metadata_withdraws_too() -> None:
    assert given("forget it", key="tz", value=None) == [("tz", "")]
    assert given("", key="tz") == [("tz", "")]


def test_prose_that_ends_with_a_colon_withdraws_nothing() -> None:
    assert given("Preferences:") == [("note_preferences", "Preferences:")]


def test_a_long_value_is_cut() -> None:
    assert given("a=" + "x" * 10_000) == [("a", "x" * 200)]
    assert len(given("\n".join(f"k{n}=1" for n in range(500)))) == 50
