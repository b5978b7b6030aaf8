"""The query of a compile, and what replaces a missing one."""

import pytest
from tests.session_view import ListView

from weft.compiler.ranking.query import query_of, situation
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, Phase

LONG = " ".join(f"word{n}" for n in range(60))


def user(text: str, sensitivity: Sensitivity = Sensitivity.PUBLIC) -> ContextItem:
    return ContextItem(f"u-{text[:9]}", ItemKind.USER_TURN, text, sensitivity=sensitivity)


def agent(text: str) -> ContextItem:
    return ContextItem(f"a-{text[:9]}", ItemKind.AGENT_MSG, text)


def query(asked: str, *items: ContextItem) -> str:
    return query_of(ListView(items), CompileRequest(Phase.ANSWER, asked), ContextPolicy())


@pytest.mark.parametrize(
    ("asked", "used"),
    [("Which ferry?", ""), (" Which\nferry? ", ""), ("Which ferry", "Which ferry")],
)
def test_a_query_that_repeats_the_latest_turn_counts_as_none(asked: str, used: str) -> None:
    assert query(asked, user("Which ship?"), user("Which ferry?"), agent("One.")) == used


def test_a_query_that_repeats_an_earlier_turn_is_one() -> None:
    assert query("Which ship?", user("Which ship?"), user("Which ferry?")) == "Which ship?"


def test_a_turn_that_no_prompt_may_show_is_not_compared() -> None:
    secret = user("The code is 4711", Sensitivity.RESTRICTED)
    assert query("The code is 4711", secret) == "The code is 4711"


def test_what_was_said_and_called_last_replaces_a_query() -> None:
    call = ContextItem("c", ItemKind.TOOL_CALL, "book(7)", metadata={"tool_name": "book"})
    result = ContextItem("r", ItemKind.TOOL_RESULT, "booked", "c")
    said = situation(ListView([user(LONG), agent("I book it."), call, result]), 4_000)
    assert said == f"{LONG}\nI book it.\nbook(7)"


def test_turns_before_a_latest_one_that_says_little_are_read_too() -> None:
    items = [user(f"An old wish: {LONG}"), agent(f"Shall I book {LONG}?"), user("yes, do that")]
    assert situation(ListView(items), 4_000) == f"yes, do that\nShall I book {LONG}?"


def test_a_small_prompt_keeps_to_what_was_said_last() -> None:
    items = [user("The ferry to Lisbon"), agent("Booked."), user("And the hotel?")]
    assert "ferry" not in situation(ListView(items), 48)
    assert "ferry" in situation(ListView(items), 4_000)
