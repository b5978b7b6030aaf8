"""A pack's entries become messages that both providers take, with every entry in them."""

import json
from typing import Any

import pytest
from tests.data import DATA, needs_data
from tests.provider_rules import check_anthropic, check_openai

from weft.adapters import anthropic, openai, read_transcripts
from weft_schemas.compile import PackEntry
from weft_schemas.items import ContextItem, ItemKind

PROVIDERS = [(openai.messages, check_openai), (anthropic.messages, check_anthropic)]


def user(text: str, **more: Any) -> PackEntry:
    return PackEntry(text, ItemKind.USER_TURN, text, "context", **more)


def agent(text: str, **more: Any) -> PackEntry:
    return PackEntry(text, ItemKind.AGENT_MSG, text, "context", **more)


def call(item_id: str, **more: Any) -> PackEntry:
    more = {"tool_name": "get", "call_id": f"id_{item_id}", "arguments": {"n": item_id}, **more}
    return PackEntry(item_id, ItemKind.TOOL_CALL, f"get({item_id})", "context", **more)


def result(item_id: str, parent: str, **more: Any) -> PackEntry:
    return PackEntry(
        item_id, ItemKind.TOOL_RESULT, f"<result {item_id}>", "context", parent_id=parent, **more
    )


def shape(entries: list[PackEntry]) -> list[str]:
    """OpenAI messages in short: role, and ids of calls."""
    out = []
    for message in openai.messages(entries)["messages"]:
        calls = [named["function"]["arguments"] for named in message.get("tool_calls", ())]
        out.append(" ".join([message["role"], *(json.loads(text)["n"] for text in calls)]))
    return out


def test_header_policy_and_tools_go_to_the_system_prompt() -> None:
    entries = [
        PackEntry("f", ItemKind.MEMORY_FACT, "user_timezone=UTC", "header"),
        PackEntry("p", ItemKind.POLICY, "Be brief.", "policy"),
        PackEntry("t", ItemKind.POLICY, "get: fetches", "tools"),
        user("hello"),
    ]
    system = "user_timezone=UTC\n\nBe brief.\n\nget: fetches"
    assert openai.messages(entries)["messages"] == [
        {"role": "system", "content": system},
        {"role": "user", "content": "hello"},
    ]
    assert anthropic.messages(entries) == {
        "system": system,
        "messages": [{"role": "user", "content": "hello"}],
    }


def test_parallel_calls_and_their_results_stand_together() -> None:
    entries = [
        user("compare"),
        agent("I look.", turn_id="t"),
        call("a", turn_id="t"),
        call("b", turn_id="t"),
        result("rb", "b"),
        result("ra", "a"),
    ]
    said, first, second = openai.messages(entries)["messages"][1:]
    assert said["content"] == "I look."
    assert [named["id"] for named in said["tool_calls"]] == ["id_a", "id_b"]
    assert (first["tool_call_id"], first["content"]) == ("id_a", "<result ra>")
    assert (second["tool_call_id"], second["content"]) == ("id_b", "<result rb>")
    blocks = anthropic.messages(entries)["messages"]
    assert [block["type"] for block in blocks[1]["content"]] == ["text", "tool_use", "tool_use"]
    assert [block["tool_use_id"] for block in blocks[2]["content"]] == ["id_a", "id_b"]


def test_parallel_calls_answered_one_by_one_are_one_turn_still() -> None:
    entries = [
        user("go"),
        call("a", turn_id="t"),
        result("ra", "a"),
        call("b", turn_id="t"),
        result("rb", "b"),
    ]
    assert shape(entries) == ["user", "assistant a b", "tool", "tool"]


def test_calls_without_a_turn_id_are_parallel_where_nothing_stands_between() -> None:
    together = [user("go"), call("a"), call("b"), result("ra", "a"), result("rb", "b")]
    apart = [user("go"), call("a"), result("ra", "a"), call("b"), result("rb", "b")]
    assert shape(together) == ["user", "assistant a b", "tool", "tool"]
    assert shape(apart) == ["user", "assistant a", "tool", "assistant b", "tool"]


def test_a_late_result_takes_its_call_with_it() -> None:
    entries = [user("go"), call("a"), agent("still waiting"), user("hurry"), result("ra", "a")]
    assert shape(entries) == ["user", "assistant", "user", "assistant a", "tool"]


def test_what_comes_later_only_adds_behind() -> None:
    entries = [
        user("go"),
        agent("yes", turn_id="1"),
        call("a", turn_id="1"),
        result("ra", "a"),
        user("more"),
        call("b", turn_id="2", call_id="id_a"),
        result("rb", "b"),
    ]
    before = openai.messages(entries[:4])["messages"]
    assert openai.messages(entries)["messages"][: len(before)] == before


def test_a_turn_id_that_comes_again_is_another_turn() -> None:
    entries = [
        user("one"),
        call("a", turn_id="1"),
        result("ra", "a"),
        user("two"),
        call("b", turn_id="1"),
        result("rb", "b"),
    ]
    assert shape(entries) == ["user", "assistant a", "tool", "user", "assistant b", "tool"]


def test_a_result_without_parent_finds_its_call_by_call_id() -> None:
    entries = [
        user("go"),
        call("a", call_id="x"),
        result("ra", "a"),
        call("b", call_id="x"),
        PackEntry("rb", ItemKind.TOOL_RESULT, "late", "context", call_id="x"),
    ]
    assert shape(entries) == ["user", "assistant a", "tool", "assistant b", "tool"]


def test_ids_and_names_that_a_provider_would_refuse_are_replaced() -> None:
    entries = [
        user("go"),
        call("a", call_id="same", tool_name="invoices.search"),
        result("ra", "a"),
        call("b", call_id="same", tool_name="x" * 99),
        result("rb", "b"),
        call("c", call_id="bad id!" * 9, tool_name=None),
        result("rc", "c"),
    ]
    calls = [
        named
        for message in openai.messages(entries)["messages"]
        for named in message.get("tool_calls", ())
    ]
    assert [named["function"]["name"] for named in calls] == ["invoices_search", "x" * 64, "tool"]
    assert calls[0]["id"] == "same"
    assert len({named["id"] for named in calls}) == 3


def test_a_redacted_call_shows_no_arguments() -> None:
    hidden = call("a", view="redacted", arguments={"card": "4111"})
    entries = [user("go"), hidden, result("ra", "a")]
    for messages, _ in PROVIDERS:
        assert "4111" not in json.dumps(messages(entries))
        assert "get(a)" in json.dumps(messages(entries))


def test_several_authors_are_named_and_a_new_day_is_marked_once() -> None:
    entries = [
        user("Hi", author="Ann", occurred_at="2023-05-08T13:00:00Z"),
        agent("Hello", author="Bo", occurred_at="2023-05-08T13:01:00Z"),
        user("Back", author="Ann", occurred_at="2023-05-09T09:00:00Z"),
    ]
    contents = [message["content"] for message in openai.messages(entries)["messages"]]
    assert contents == ["8 May 2023\nAnn: Hi", "Bo: Hello", "9 May\nAnn: Back"]


def test_kinds_without_a_role_stand_labelled_in_one_message_of_the_user() -> None:
    entries = [
        PackEntry("d", ItemKind.DOC_SNIPPET, "the manual", "context"),
        PackEntry("s", ItemKind.PLAN_STATE, "step 2 of 3", "context"),
    ]
    said = {"role": "user", "content": "[document] the manual\n[plan] step 2 of 3"}
    assert anthropic.messages(entries)["messages"] == [said]
    assert openai.messages(entries)["messages"] == [said]


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [PackEntry("p", ItemKind.POLICY, "Be brief.", "policy")],
        [agent("first"), user("second"), agent("third")],
        [agent("a"), agent("b"), user("c"), user("d")],
        [user(" \n"), agent("")],
        [call("a"), result("ra", "a"), result("more", "a")],
        [call("a")],
        [result("ra", "gone")],
        [user("x"), result("ra", "a"), call("a")],
        [user("x"), call("a"), call("b"), result("ra", "a"), call("c"), result("rc", "c")],
        [call("a", arguments=None), result("ra", "a"), agent("done ")],
    ],
)
def test_what_no_session_should_hold_is_valid_too(entries: list[PackEntry]) -> None:
    for messages, check in PROVIDERS:
        check(messages(entries))
        shown = json.dumps(messages(entries))
        assert all(entry.text in shown or not entry.text.strip() for entry in _texts(entries))


@needs_data
@pytest.mark.parametrize("folder", ["taubench", "livemcpbench", "openhands", "locomo"])
def test_every_real_session_is_valid_whole_and_cut_anywhere(folder: str) -> None:
    for path in sorted((DATA / folder).glob("*.json*")):
        for transcript in read_transcripts(path.read_bytes(), file=path.name):
            entries = [_entry(item) for item in transcript.items]
            for start in (0, len(entries) // 3, len(entries) // 2):
                for messages, check in PROVIDERS:
                    check(messages(entries[start:]))


def _entry(item: ContextItem) -> PackEntry:
    known = item.reserved
    return PackEntry(
        item.id,
        item.kind,
        item.text,
        "context",
        parent_id=item.parent_id,
        author=known.author,
        tool_name=known.tool_name,
        call_id=known.call_id,
        arguments=known.arguments,
        turn_id=known.turn_id,
        occurred_at=known.occurred_at,
    )


def _texts(entries: list[PackEntry]) -> list[PackEntry]:
    """Entries whose text a message shows; a whole call shows its arguments instead."""
    return [entry for entry in entries if entry.kind is not ItemKind.TOOL_CALL]


def test_an_empty_result_is_no_error_to_anthropic() -> None:
    """Which refuses `is_error` without content."""
    for text, told in (("boom", True), (" ", None)):
        failed = PackEntry("r", ItemKind.TOOL_RESULT, text, "context", parent_id="c", is_error=True)
        made = anthropic.messages([user("go"), call("c"), failed])
        check_anthropic(made)
        assert made["messages"][-1]["content"][0].get("is_error") is told


def test_of_several_results_of_a_call_one_that_failed_counts() -> None:
    entries = [user("go"), call("c"), result("r1", "c", is_error=True), result("r2", "c")]
    [block] = anthropic.messages(entries)["messages"][-1]["content"]
    assert block["is_error"] is True
