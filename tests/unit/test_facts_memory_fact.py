"""memory_fact items: the forms in which a fact can be given outright."""

from typing import Any

import pytest

from weft.facts.memory_fact import facts_given


def given(text: str, **metadata: Any) -> list[tuple[str, str]]:
    return facts_given(metadata, text)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("user_timezone=UTC", [("user_timezone", "UTC")]),
        ("a = 1\nb=two words", [("a", "1"), ("b", "two words")]),
        ("a=1; b=2", [("a", "1"), ("b", "2")]),
        ("Customer tier: gold", [("customer_tier", "gold")]),
        ('{"key": "user_timezone", "value": "UTC"}', [("user_timezone", "UTC")]),
        ('{"seats": 3, "meals": ["veg"]}', [("seats", "3"), ("meals", '["veg"]')]),
        (
            "The customer waits for a call",
            [("note_customer_waits_call", "The customer waits for a call")],
        ),
    ],
)
def test_given(text: str, facts: list[tuple[str, str]]) -> None:
    assert given(text) == facts


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
