"""Calls that are left out are named in the marks."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec
import pytest
from tests.session_view import ListView

from weft.adapters import anthropic, openai
from weft.audit.reproduce import reproduce
from weft.compiler.compile import Compilation, compile_pack
from weft.readmodel.rows import ItemRow
from weft_schemas.compile import CompileAudit, CompileRequest
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, Phase, PhaseRule

LONG = " ".join(f"line {n} of a page about harbours and ships." for n in range(60))


def called(number: int, result: str = LONG) -> list[ContextItem]:
    arguments = {"path": f"page{number}.md"}
    name = f"c{number}"
    return [
        ContextItem(
            name, ItemKind.TOOL_CALL, metadata={"tool_name": "read", "arguments": arguments}
        ),
        ContextItem(f"r{number}", ItemKind.TOOL_RESULT, result, name),
    ]


def session(count: int) -> list[ContextItem]:
    return [
        ContextItem("u0", ItemKind.USER_TURN, "Read all pages and tell me which harbour is open."),
        *(item for number in range(count) for item in called(number)),
    ]


def compiled(
    items: list[ContextItem],
    budget: int = 1_000,
    phase: Phase = Phase.CALL,
    base: CompileAudit | None = None,
) -> Compilation:
    request = CompileRequest(phase, budget=budget, stable_from=base.id if base else None)
    return compile_pack(ListView(items), request, base=base)


def named(made: Compilation) -> list[str]:
    """The calls that stand in marks."""
    return re.findall(r"page\d+\.md", " ".join(one.omitted_calls for one in made.pack.entries))


def shown(made: Compilation) -> set[str]:
    entries = made.pack.entries
    return {f"page{one.item_id[1:]}.md" for one in entries if one.kind is ItemKind.TOOL_CALL}


@pytest.mark.parametrize("phase", [Phase.ROUTE, Phase.CALL, Phase.INTERPRET])
def test_calls_that_were_never_considered_are_named_too(phase: Phase) -> None:
    made = compiled(session(300), 8_000, phase)
    told = [int(re.sub(r"\D", "", one)) for one in named(made)]
    assert told == list(range(told[0], told[-1] + 1))
    assert f"page{told[-1] + 1}.md" in shown(made)
    assert len(told) > 100
    assert max(made.pack.stats.message_tokens.values()) <= 8_000


def test_a_policy_keeps_such_calls_from_being_named() -> None:
    items = session(300)
    at = next(at for at, one in enumerate(items) if one.id == "c200")
    items[at] = msgspec.structs.replace(items[at], sensitivity=Sensitivity.RESTRICTED)
    made = compiled(items, 8_000)
    assert "page200.md" not in made.pack.prompt
    assert "page201.md" in named(made)
    limited = PhaseRule(tuple(ItemKind), limits={ItemKind.TOOL_CALL: 3})
    policy = ContextPolicy(phases={Phase.CALL: limited})
    request = CompileRequest(Phase.CALL, budget=8_000, policy=policy)
    prompt = compile_pack(ListView(items), request).pack.prompt
    assert len(re.findall(r"page\d+\.md", prompt)) == 3


def test_all_are_named_if_there_is_room() -> None:
    made = compiled(session(12), 900)
    every = {f"page{number}.md" for number in range(12)}
    assert shown(made) < every
    assert set(named(made)) | shown(made) == every
    assert not set(named(made)) & shown(made)
    assert max(made.pack.stats.message_tokens.values()) <= 900
    assert made.pack.stats.prompt_tokens <= 900
    assert "some calls named" in made.pack.prompt


def test_the_newest_are_named_if_there_is_no_room_for_all() -> None:
    made = compiled(session(300), 900)
    numbers = [int(re.sub(r"\D", "", one)) for one in named(made)]
    oldest = min(int(re.sub(r"\D", "", one)) for one in shown(made))
    assert len(numbers) > 3
    assert numbers == sorted(numbers)
    assert set(range(numbers[0], 300)) == {*numbers, *range(oldest, 300)} - {*range(numbers[0])}


def test_calls_are_named_beside_exchanges_that_messages_show_as_text() -> None:
    items = session(24)
    for at, one in enumerate(items):
        if one.kind is ItemKind.TOOL_CALL:
            arguments = one.metadata["arguments"] | {"password": f"hunter2Xy{at}!"}
            items[at] = msgspec.structs.replace(
                one, metadata={"tool_name": "read", "arguments": arguments}
            )
    made = compiled(items)
    assert "[secret:password]" in made.pack.prompt
    assert "hunter2" not in made.pack.prompt
    assert len(named(made)) > 1
    assert max(made.pack.stats.message_tokens.values()) <= 1_000


def test_an_answer_and_a_small_budget_spend_nothing_on_names() -> None:
    assert named(compiled(session(24), 1_200, Phase.ANSWER)) == []
    assert named(compiled(session(24), 500)) == []
    assert "calls among them" not in compiled(session(24), 500).pack.prompt


def test_nothing_of_a_redacted_call_is_told() -> None:
    items = session(24)
    assert {"page8.md", "page9.md"} <= set(named(compiled(items)))
    at = next(at for at, one in enumerate(items) if one.id == "c8")
    items[at] = msgspec.structs.replace(items[at], sensitivity=Sensitivity.RESTRICTED)
    made = compiled(items)
    assert "page8.md" not in made.pack.prompt
    assert "page9.md" in named(made)


def test_the_manifest_says_which_calls_are_named() -> None:
    items = session(24)
    made = compiled(items)
    rows = {row.sequence: row.id for row in ListView(items).recent(100)}
    told = [rows[at] for one in made.audit.manifest for at in one.named]
    assert told
    assert [f"page{name[1:]}.md" for name in told] == named(made)


def test_names_in_a_stable_prompt_stay_as_they_are() -> None:
    items = session(40)
    before = compiled(items[:61], 1_500)
    kept = 0
    for count in range(63, len(items) + 1, 2):
        after = compiled(items[:count], 1_500, base=before.audit)
        assert max(after.pack.stats.message_tokens.values()) <= 1_500
        old, new = (re.findall(r"^… .*$", one.pack.prompt, re.MULTILINE) for one in (before, after))
        kept += bool(old) and old[0] == new[0]
        before = after
    assert named(before)
    assert kept > 3


def test_no_user_message_holds_what_the_agent_called() -> None:
    items = [
        *session(24),
        ContextItem("a", ItemKind.AGENT_MSG, "None of these."),
        ContextItem("u1", ItemKind.USER_TURN, "Go on. " * 20),
        *called(50, "short"),
    ]
    entries = compiled(items).pack.entries
    assert any(one.omitted_calls for one in entries)
    for made in (openai.messages(entries), anthropic.messages(entries)):
        said = [str(one["content"]) for one in made["messages"] if one["role"] == "user"]
        assert not any(" calls: " in text for text in said)
        assert " calls: read" in str(made["messages"])


def test_a_policy_s_own_limits_hold_for_names_too() -> None:
    policy = ContextPolicy(sensitivity_floor=Sensitivity.PUBLIC)
    request = CompileRequest(Phase.CALL, budget=1_000, policy=policy)
    assert " calls: " not in compile_pack(ListView(session(24)), request).pack.prompt


def test_a_reproduction_tells_which_call_of_a_mark_is_gone() -> None:
    items = session(24)
    made = compiled(items)
    at = next(one.named[-1] for one in made.audit.manifest if one.named)

    class WithoutCall(ListView):
        def rows(self, sequences: Iterable[int]) -> list[ItemRow]:
            return [row for row in super().rows(sequences) if row.sequence not in (at, at + 2)]

    again = reproduce(made.audit, WithoutCall(items))
    assert not again.identical
    assert f"(event {at})" in again.reasons[0]
    assert reproduce(made.audit, ListView(items)).identical
