"""Whatever a session interleaves, the messages are valid, deterministic and hold every entry; and
no call stands there that was not made just so."""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.provider_rules import (
    check_anthropic,
    check_gemini,
    check_openai,
    check_responses,
    made_calls,
    results_of,
    texts_of,
)

from weft.adapters import anthropic, gemini, openai, responses
from weft.adapters.conversation import CONTINUE, NO_RESULT, OPENING
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind

SECTIONS = ("header", "policy", "tools", "legend", "context", "latest")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner),
    max_leaves=5,
)  # fmt: skip
ARGUMENTS = st.none() | st.just({}) | st.dictionaries(st.text("xyz ", max_size=3), JSON, max_size=3)

Make = Callable[[list[PackEntry]], dict[str, Any]]


@st.composite
def sessions(draw: st.DrawFn) -> list[PackEntry]:
    """Up to 25 entries in any order, calls and results tied, torn or crossed."""
    entries = []
    for place in range(draw(st.integers(0, 25))):
        entries.append(
            PackEntry(
                item_id=f"i{place}",
                kind=draw(st.sampled_from(list(ItemKind))),
                text=draw(st.sampled_from(["", " ", f"text-{place}."])),
                section=draw(st.sampled_from((*SECTIONS, "context", "context"))),
                parent_id=draw(st.sampled_from([None, "gone", *(f"i{n}" for n in range(25))])),
                author=draw(st.sampled_from([None, "Ann", "Bo"])),
                tool_name=draw(st.sampled_from([None, "get", "a.b c", "é" * 80])),
                call_id=draw(st.sampled_from([None, "x", "y", "no good", "z" * 50])),
                arguments=draw(ARGUMENTS),
                turn_id=draw(st.sampled_from([None, "1", "2"])),
                occurred_at=draw(st.sampled_from([None, "2023-05-08T13:00:00Z", "2024-01-01"])),
                view=draw(st.sampled_from(["whole", "whole", "redacted", "shortened"])),
                is_error=draw(st.booleans()),
                omitted_before=draw(st.sampled_from([0, 0, 0, 1, 7])),
                answer=draw(st.sampled_from(["", "", "not yet"])),
            )
        )
    return entries


RULES: list[Callable[[list[PackEntry]], None]] = []


def of_any_session(holds: Callable[[list[PackEntry]], None]) -> None:
    """A rule that is tried on every session that is made up."""
    RULES.append(holds)


def of_both_providers(holds: Callable[[Make, list[PackEntry]], None]) -> None:
    """The same of either provider's messages."""
    for make in (openai.messages, anthropic.messages):
        RULES.append(partial(holds, make))


# A loaded machine makes an example slow, and no test wrong.
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(sessions())
def test_the_messages_of_any_session_keep_every_rule(entries: list[PackEntry]) -> None:
    """Making a session up takes ten times as long as all rules: each is made once for them all."""
    for holds in RULES:
        holds(entries)


@of_any_session
def every_provider_takes_any_session(entries: list[PackEntry]) -> None:
    check_responses(responses.messages(entries))
    check_gemini(gemini.messages(entries))
    check_openai(openai.messages(entries))
    check_anthropic(anthropic.messages(entries))
    assert openai.messages(entries) == openai.messages(list(entries))


@of_any_session
def the_other_forms_of_each_provider_hold_the_same(entries: list[PackEntry]) -> None:
    """Gemini's rules are Anthropic's, so that what is shown of either is shown of both."""
    for like, other in (
        (openai.messages(entries), responses.messages(entries)),
        (anthropic.messages(entries), gemini.messages(entries)),
    ):
        assert list(texts_of(other)) == list(texts_of(like))
        assert [call[2] for call in made_calls(other)] == [call[2] for call in made_calls(like)]
        assert list(results_of(other).values()) == list(results_of(like).values())


@of_both_providers
def no_entry_is_lost(make: Make, entries: list[PackEntry]) -> None:
    shown = list(_strings(make(entries)))
    for entry in entries:
        if entry.text.strip() and not _is_real_call(entry):
            assert any(entry.text in text for text in shown)


@of_both_providers
def every_call_shown_is_one_that_was_made_with_just_these_arguments(
    make: Make, entries: list[PackEntry]
) -> None:
    wanted = [entry.arguments for entry in entries if _is_real_call(entry)]
    found = [arguments for _, _, arguments in made_calls(make(entries))]
    assert sorted(map(json.dumps, found)) == sorted(map(json.dumps, wanted))


@of_both_providers
def every_call_is_answered_by_its_results_or_told_to_have_none(
    make: Make, entries: list[PackEntry]
) -> None:
    context = [entry for entry in entries if _in_context(entry)]
    calls = {entry.item_id for entry in context if _is_real_call(entry)}
    made = make(entries)
    results = list(results_of(made).values())
    assert len(results) == len(calls)
    answered = set()
    for entry in context:
        if entry.kind is ItemKind.TOOL_RESULT and entry.parent_id in calls:
            answered.add(entry.parent_id)
            if entry.text.strip():
                assert any(entry.text in result for result in results)
        if entry.item_id in calls and entry.answer:
            answered.add(entry.item_id)
    assert sum(NO_RESULT in result for result in results) <= len(calls - answered)
    told = [entry.answer for entry in context if entry.item_id in calls and entry.answer]
    assert sum(result.endswith("[not yet]") for result in results) == len(told)


@of_both_providers
def what_is_remembered_and_what_tools_gave_is_no_system_message_and_no_users_word(
    make: Make, entries: list[PackEntry]
) -> None:
    made = make(entries)
    for role, text in texts_of(made):
        for entry in entries:
            if entry.text.strip() and entry.text in text and entry.section == "header":
                assert role == "user"
            if entry.text.strip() and entry.text in text and _in_context(entry):
                if entry.kind in (ItemKind.TOOL_RESULT, ItemKind.TOOL_CALL):
                    assert role == "assistant"
                if entry.kind is ItemKind.MEMORY_FACT:
                    assert f"[memory] {entry.text}" in text


@of_both_providers
def all_that_is_left_out_is_marked(make: Make, entries: list[PackEntry]) -> None:
    said = PackEntry("last", ItemKind.USER_TURN, "and now?", "latest")
    texts = "\n".join(text for _, text in texts_of(make([*entries, said])))
    marks = re.findall(r"^… (\d+) …(?: calls: .*)?$", texts, re.MULTILINE)
    shown = [entry for entry in entries if entry.section != "header"]
    assert sum(map(int, marks)) == sum(entry.omitted_before for entry in shown)


@of_both_providers
def the_last_message_is_the_users_where_the_user_came_last(
    make: Make, entries: list[PackEntry]
) -> None:
    said = PackEntry("last", ItemKind.USER_TURN, "and now?", "latest")
    made = make([*entries, said])
    role, text = list(texts_of(made))[-1]
    assert role == "user"
    assert text.endswith("and now?")
    assert CONTINUE not in text


@of_both_providers
def after_a_record_the_last_message_is_not_the_assistants(
    make: Make, entries: list[PackEntry]
) -> None:
    told = PackEntry("told", ItemKind.TOOL_RESULT, "42", "latest", tool_name="get")
    assert list(texts_of(make([*entries, told])))[-1][0] == "user"


@of_both_providers
def nothing_is_put_in_where_the_user_came_first(make: Make, entries: list[PackEntry]) -> None:
    said = PackEntry("first", ItemKind.USER_TURN, "hello!", "context")
    assert OPENING not in json.dumps(make([said, *entries]))


@of_both_providers
def each_entry_starts_on_a_line_of_its_own(make: Make, entries: list[PackEntry]) -> None:
    for _, text in texts_of(make(entries)):
        for entry in entries:
            if entry.text.strip() and _in_context(entry) and entry.text in text:
                [line] = [line for line in text.splitlines() if entry.text in line]
                assert not any(
                    other.text in line
                    for other in entries
                    if other.text.strip() and other is not entry
                )


def _is_real_call(entry: PackEntry) -> bool:
    if entry.kind is not ItemKind.TOOL_CALL or not _in_context(entry):
        return False
    return bool(entry.tool_name) and entry.arguments is not None and entry.view == "whole"


def _in_context(entry: PackEntry) -> bool:
    return entry.section in ("context", "latest") and entry.kind is not ItemKind.POLICY


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for held in value.values():
            yield from _strings(held)
    elif isinstance(value, list):
        for held in value:
            yield from _strings(held)
