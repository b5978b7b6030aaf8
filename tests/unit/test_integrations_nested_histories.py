"""What the OpenAI Agents SDK tells the next agent in words is read as the items it tells."""

from __future__ import annotations

import json

import pytest

from weft.integrations.nested_histories import unfolded

MARKERS = ("<CONVERSATION HISTORY>", "</CONVERSATION HISTORY>")
CALL = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}


def told(*lines: str, preamble: str = " between the user and the previous agent") -> dict[str, str]:
    begin = f"For context, here is the conversation so far{preamble}:"
    return {"role": "assistant", "content": "\n".join([begin, MARKERS[0], *lines, MARKERS[1]])}


def test_messages_and_calls_take_the_place_of_what_tells_them() -> None:
    user = {"role": "user", "content": "Where\nis it?"}
    nested = told(f"1. {json.dumps(user)}", f"2. {json.dumps(CALL)}", "3. user (maya): 1. here?")
    answer = {"role": "assistant", "content": "There."}
    maya = {"role": "user", "name": "maya", "content": "1. here?"}
    assert unfolded([nested, answer], [], MARKERS) == [user, CALL, maya, answer]


def test_the_words_of_the_session_count_where_space_around_them_was_not_told() -> None:
    own = [{"role": "user", "content": "Hi \n"}, {"role": "user", "content": "Hi"}]
    assert unfolded([told("1. user: Hi", "2. user: Hi")], own, MARKERS) == own


def test_what_earlier_releases_of_the_sdk_told_is_read() -> None:
    line = f"1. function_call: {json.dumps({k: CALL[k] for k in CALL if k != 'type'})}"
    assert unfolded([told(line, preamble="")], [], MARKERS) == [CALL]
    several = told("1. user: first", "second", "2. assistant:", preamble="")
    texts = [one["content"] for one in unfolded([several], [], MARKERS)]
    assert texts == ["first\nsecond", ""]
    assert unfolded([told("(no previous turns recorded)")], [], MARKERS) == []


@pytest.mark.parametrize(
    "item",
    [
        told("1. something else"),
        {"role": "user", "content": told("1. user: Hi")["content"]},
        {"role": "assistant", "content": told("1. user: Hi")["content"] + "\nDone."},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]},
        CALL,
    ],
)
def test_anything_else_stays_as_it_is(item: dict[str, object]) -> None:
    assert unfolded([item], [], MARKERS) == [item]
