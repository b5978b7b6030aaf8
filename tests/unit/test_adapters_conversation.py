"""A pack's entries become messages that both providers take, with every entry in them."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from tests.data import DATA, needs_data
from tests.provider_rules import check_anthropic, check_openai, made_calls, results_of

from weft.adapters import anthropic, gemini, openai, read_transcripts, responses
from weft.adapters.call_results import is_verbatim
from weft.adapters.conversation import CONTINUE, EMPTY_RESULT, NO_RESULT, OPENING
from weft.adapters.steps import RECORD
from weft.integrations.conversations import failed_calls
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


def both(entries: list[PackEntry]) -> list[dict[str, Any]]:
    """The messages of both providers, valid by their rules."""
    made = [messages(entries) for messages, _ in PROVIDERS]
    for one, (_, check) in zip(made, PROVIDERS, strict=True):
        check(one)
    return made


def shape(entries: list[PackEntry]) -> list[str]:
    """OpenAI messages in short: role, and ids of calls."""
    out = []
    for message in openai.messages(entries)["messages"]:
        calls = [named["function"]["arguments"] for named in message.get("tool_calls", ())]
        out.append(" ".join([message["role"], *(json.loads(text)["n"] for text in calls)]))
    return out


MEMORY = PackEntry("", ItemKind.MEMORY_FACT, "facts: user_timezone=UTC", "header")
POLICY = PackEntry("p", ItemKind.POLICY, "Be brief.", "policy")
SYSTEM = [
    POLICY,
    PackEntry("", ItemKind.POLICY, "get: fetches", "tools"),
    PackEntry("", ItemKind.POLICY, "A mark like … says what was left out.", "legend"),
]


def test_policy_tools_and_legend_go_to_the_system_prompt() -> None:
    entries = [*SYSTEM, user("hello")]
    system = "Be brief.\n\nget: fetches\n\nA mark like … says what was left out."
    assert openai.messages(entries)["messages"] == [
        {"role": "system", "content": system},
        {"role": "user", "content": "hello"},
    ]
    assert anthropic.messages(entries) == {
        "system": system,
        "messages": [{"role": "user", "content": "hello"}],
    }


def test_what_is_remembered_stands_above_the_users_first_words() -> None:
    for made in both([MEMORY, POLICY, user("hello"), agent("hi"), user("again")]):
        first, _, last = [one for one in made["messages"] if one["role"] != "system"]
        assert first == {"role": "user", "content": "facts: user_timezone=UTC\n\nhello"}
        assert last == {"role": "user", "content": "again"}


def test_what_is_remembered_stands_in_the_message_that_the_rules_need_where_none_comes_first() -> (
    None
):
    entries = [MEMORY, agent("hi"), user("hello")]
    opening = f"facts: user_timezone=UTC\n\n{OPENING}"
    assert [one["content"] for one in anthropic.messages(entries)["messages"]] == [
        opening,
        "hi",
        "hello",
    ]
    assert [one["content"] for one in openai.messages(entries)["messages"]] == [
        "hi",
        "facts: user_timezone=UTC\n\nhello",
    ]
    assert openai.messages([MEMORY, agent("hi")])["messages"] == [
        {"role": "user", "content": opening},
        {"role": "assistant", "content": "hi"},
    ]
    for made in both([MEMORY]):
        alone = f"facts: user_timezone=UTC\n\n{CONTINUE}"
        assert made["messages"] == [{"role": "user", "content": alone}]


def test_a_fact_among_the_items_goes_with_the_users_words() -> None:
    fact = PackEntry("f", ItemKind.MEMORY_FACT, "timezone=UTC", "context")
    for entries, expected in (
        ([user("go"), agent("yes"), fact], ["go\n[memory] timezone=UTC", "yes"]),
        (
            [agent("yes"), fact, agent("so"), user("go")],
            ["yes\nso", "[memory] timezone=UTC\nuser: go"],
        ),
        ([user("a"), fact, user("b")], ["a\n[memory] timezone=UTC\nuser: b"]),
        ([agent("yes"), fact], ["yes", "[memory] timezone=UTC"]),
    ):
        assert [one["content"] for one in openai.messages(entries)["messages"]] == expected


def test_the_users_words_behind_a_document_are_told_from_it() -> None:
    document = PackEntry("d", ItemKind.DOC_SNIPPET, "the manual", "context")
    for made in both([document, user("what now?"), user("tell me")]):
        said = "[document] the manual\nuser: what now?\ntell me"
        assert made["messages"] == [{"role": "user", "content": said}]


def test_a_call_has_its_arguments_word_for_word() -> None:
    arguments = {"z": 'é\n"', "a": [1, 2.5, None, {"deep": {"b": 1, "a": 2}}], "": False}
    entries = [user("go"), call("a", arguments=arguments), result("ra", "a")]
    for made in both(entries):
        [(_, name, found)] = made_calls(made)
        assert (name, json.dumps(found)) == ("get", json.dumps(arguments))


@pytest.mark.parametrize(
    "shown",
    [
        {"view": "shortened", "arguments": None},
        {"view": "shortened"},
        {"view": "redacted"},
        {"arguments": None},
        {"tool_name": None},
    ],
)
def test_an_exchange_whose_call_is_not_whole_is_told_in_the_assistants_turn(
    shown: dict[str, Any],
) -> None:
    entries = [user("go"), call("a", **shown), result("ra", "a"), user("more")]
    for made in both(entries):
        assert made["messages"] == [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": f"{RECORD}\ncalled: get(a)\nreturned: <result ra>"},
            {"role": "user", "content": "more"},
        ]


def test_exchanges_in_a_row_are_told_under_one_heading() -> None:
    cut = {"view": "shortened", "arguments": None}
    entries = [
        agent("I look."),
        call("a", **cut),
        result("ra", "a"),
        call("b", **cut),
        agent("So."),
        call("c", **cut),
    ]
    message, _ = openai.messages(entries)["messages"]
    assert message["content"].splitlines() == [
        "I look.",
        RECORD,
        "called: get(a)",
        "returned: <result ra>",
        "called: get(b)",
        NO_RESULT,
        "So.",
        RECORD,
        "called: get(c)",
        NO_RESULT,
    ]


def test_a_record_names_the_tool_where_the_calls_text_does_not() -> None:
    shown = PackEntry(
        "a", ItemKind.TOOL_CALL, "looks it up", "context", tool_name="find", view="shortened"
    )
    failed = result("ra", "a", is_error=True)
    message, _ = openai.messages([shown, failed])["messages"]
    assert message["content"] == f"{RECORD}\ncalled: find: looks it up\nfailed: <result ra>"


def test_why_a_call_has_no_result_is_told_where_the_entry_says_it() -> None:
    why = "its result is not worked on yet"
    for made in both([user("go"), call("a", answer=why)]):
        assert results_of(made) == {"id_a": f"[{why}]"}
    content = openai.messages([call("a", answer=why, view="redacted")])["messages"][0]["content"]
    assert content.endswith(f"called: get(a)\n[{why}]")


def test_what_is_left_out_is_marked_where_it_was() -> None:
    entries = [
        replace(POLICY, omitted_before=1),
        user("go", omitted_before=2),
        agent("I look."),
        call("a", omitted_before=1),
        replace(result("ra", "a"), omitted_before=4),
        call("b", view="parts", arguments=None, omitted_before=5),
        result("rb", "b"),
        user("more", omitted_before=6),
    ]
    of_openai, of_anthropic = both(entries)
    assert [one["content"] for one in of_openai["messages"]] == [
        "Be brief.",
        "… 3 …\ngo",
        "I look.\n… 5 …",
        "<result ra>",
        f"… 5 …\n{RECORD}\ncalled: get(b)\nreturned: <result rb>",
        "… 6 …\nmore",
    ]
    assert of_anthropic["messages"][1]["content"][0]["text"] == "I look.\n… 5 …"


def test_nothing_that_is_left_out_goes_unmarked_where_a_fact_is_moved() -> None:
    fact = PackEntry("f", ItemKind.MEMORY_FACT, "timezone=UTC", "context", omitted_before=3)
    last = [user("go"), agent("yes"), fact]
    assert [one["content"] for one in openai.messages(last)["messages"]] == [
        "go\n[memory] timezone=UTC\n… 3 …",
        "yes",
    ]
    assert [one["content"] for one in openai.messages([*last, agent("so")])["messages"]] == [
        "go\n[memory] timezone=UTC",
        "yes\n… 3 …\nso",
    ]


def test_of_parallel_calls_only_the_one_that_is_not_whole_is_told() -> None:
    entries = [
        user("go"),
        agent("I look.", turn_id="t"),
        call("a", turn_id="t"),
        call("b", turn_id="t", view="shortened", arguments=None),
        call("c", turn_id="t"),
        result("rb", "b"),
        result("ra", "a"),
        result("rc", "c"),
        agent("Done."),
    ]
    assert shape(entries) == ["user", "assistant a c", "tool", "tool", "assistant"]
    messages = openai.messages(entries)["messages"]
    assert messages[1]["content"] == "I look."
    record = f"{RECORD}\ncalled: get(b)\nreturned: <result rb>"
    assert messages[-1]["content"] == f"{record}\nDone."


def test_a_call_without_a_result_is_answered_by_a_sentence_that_says_so() -> None:
    entries = [user("go"), call("a", turn_id="t"), call("b", turn_id="t"), result("rb", "b")]
    for made in both(entries):
        assert results_of(made) == {"id_a": NO_RESULT, "id_b": "<result rb>"}
    for made in both([user("go"), call("a")]):
        assert results_of(made) == {"id_a": NO_RESULT}
        assert made["messages"][-1]["role"] in ("tool", "user")


def test_two_equal_calls_stay_two() -> None:
    arguments = {"invoice": 7}
    entries = [
        user("pay it"),
        call("a", arguments=arguments),
        result("ra", "a"),
        user("and again"),
        call("b", arguments=arguments),
        result("rb", "b"),
    ]
    for made in both(entries):
        assert [found for _, _, found in made_calls(made)] == [arguments, arguments]


def test_a_result_whose_call_is_not_there_is_told_in_the_assistants_turn() -> None:
    left = PackEntry("r", ItemKind.TOOL_RESULT, "<3 °C>", "context", tool_name="weather")
    for made in both([user("go"), left, user("thanks")]):
        record = f"{RECORD}\nweather returned: <3 °C>"
        assert made["messages"][1] == {"role": "assistant", "content": record}


def test_a_result_that_was_logged_before_its_call_joins_it() -> None:
    for early in (
        result("ra", "a"),
        PackEntry("ra", ItemKind.TOOL_RESULT, "<result ra>", "context", call_id="id_a"),
    ):
        for made in both([user("go"), early, call("a"), user("more")]):
            assert results_of(made) == {"id_a": "<result ra>"}


def test_of_one_call_id_that_comes_again_each_call_has_its_own_results() -> None:
    def answer(text: str) -> PackEntry:
        return PackEntry(text, ItemKind.TOOL_RESULT, text, "context", call_id="x")

    entries = [
        user("go"),
        call("a", call_id="x"),
        answer("one"),
        answer("one more"),
        call("b", call_id="x"),
        answer("two"),
    ]
    for made in both(entries):
        assert list(results_of(made).values()) == ["one\none more", "two"]


def test_only_what_a_provider_demands_is_put_in() -> None:
    entries = [agent("first"), user("second"), agent("third")]
    assert [one["content"] for one in openai.messages(entries)["messages"]] == [
        "first",
        "second",
        "third",
    ]
    assert [one["content"] for one in anthropic.messages(entries)["messages"]] == [
        OPENING,
        "first",
        "second",
        "third",
        CONTINUE,
    ]
    ends_with_results = [user("go"), call("a"), result("ra", "a")]
    for made in both(ends_with_results):
        assert CONTINUE not in json.dumps(made)
        assert OPENING not in json.dumps(made)


@pytest.mark.parametrize(
    "last",
    [
        [call("a", view="shortened", arguments=None), result("ra", "a")],
        [call("a", view="redacted", arguments=None)],
        [PackEntry("r", ItemKind.TOOL_RESULT, "<3 °C>", "context", tool_name="weather")],
        [
            call("a", turn_id="t"),
            call("b", turn_id="t", view="shortened", arguments=None),
            result("ra", "a"),
            result("rb", "b"),
        ],
    ],
)
def test_after_an_exchange_that_is_only_told_the_turn_is_the_models(last: list[PackEntry]) -> None:
    fact = PackEntry("f", ItemKind.MEMORY_FACT, "timezone=UTC", "context")
    for entries in ([user("go"), *last], last, [user("go"), *last, fact]):
        for made in both(entries):
            assert made["messages"][-1] == {"role": "user", "content": CONTINUE}
        assert responses.messages(entries)["input"][-1] == {"role": "user", "content": CONTINUE}
        assert gemini.messages(entries)["contents"][-1]["role"] == "user"
        for made in both([*entries, user("thanks")]):
            assert CONTINUE not in json.dumps(made)
        assert openai.messages([*entries, agent("Done.")])["messages"][-1]["role"] == "assistant"


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
        call("c", call_id="bad id!" * 9),
        result("rc", "c"),
    ]
    calls = [
        named
        for message in openai.messages(entries)["messages"]
        for named in message.get("tool_calls", ())
    ]
    assert [named["function"]["name"] for named in calls] == ["invoices_search", "x" * 64, "get"]
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
@pytest.mark.parametrize("folder", ["taubench", "livemcpbench", "openhands", "locomo", "coding"])
def test_every_real_session_is_valid_whole_and_cut_anywhere(folder: str) -> None:
    for path in sorted((DATA / folder).glob("*.json*")):
        for transcript in read_transcripts(path.read_bytes(), file=path.name):
            entries = [_entry(item) for item in transcript.items]
            for start in (0, len(entries) // 3, len(entries) // 2):
                rest = _shortened(entries[start:])
                whole = [entry for entry in rest if is_verbatim(entry)]
                for made in both(rest):
                    found = [arguments for _, _, arguments in made_calls(made)]
                    assert found == [entry.arguments for entry in whole]


def _shortened(entries: list[PackEntry]) -> list[PackEntry]:
    """With each third call cut, as a compile cuts what does not fit."""
    cut = [entry.item_id for entry in entries if entry.kind is ItemKind.TOOL_CALL][::3]
    return [
        replace(entry, view="shortened", arguments=None, text="cut(…)")
        if entry.item_id in cut
        else entry
        for entry in entries
    ]


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


@pytest.mark.parametrize(("text", "content"), [("boom", "boom"), (" ", EMPTY_RESULT)])
def test_a_failed_call_is_told_to_both(text: str, content: str) -> None:
    failed = PackEntry("r", ItemKind.TOOL_RESULT, text, "context", parent_id="c", is_error=True)
    of_openai, of_anthropic = both([user("go"), call("c"), failed])
    [block] = of_anthropic["messages"][-1]["content"]
    assert (block["content"], block["is_error"]) == (content, True)
    assert of_openai["messages"][-1]["content"] == f"{openai.FAILED}\n{content}"


def test_of_several_results_of_a_call_one_that_failed_counts() -> None:
    entries = [user("go"), call("c"), result("r1", "c", is_error=True), result("r2", "c")]
    [block] = anthropic.messages(entries)["messages"][-1]["content"]
    assert block["is_error"] is True


def test_failed_calls_are_known_from_the_entries_and_not_from_a_text() -> None:
    quoting = replace(result("r1", "c1"), text=f"{openai.FAILED} is what the tool printed")
    entries = [
        user("Pay all."),
        call("c1"),
        call("c2", call_id="x" * 60),
        call("c3"),
        quoting,
        result("r2", "c2", is_error=True),
        result("r3", "c3"),
    ]
    pack: Any = SimpleNamespace(entries=entries)
    sent = [one for one in openai.messages(entries)["messages"] if one["role"] == "tool"]
    assert [one["content"].startswith(openai.FAILED) for one in sent] == [True, True, False]
    assert failed_calls(pack) == {sent[1]["tool_call_id"]}
