"""A call whose arguments hold the mark of a secret is refused, with what to do."""

from __future__ import annotations

import logging
import threading
from typing import Any

import msgspec
import pytest
from tests.firewall_made import KEY
from tests.session_items import items_of

import weft
from weft.firewall.guards import scan
from weft.secrets.marked_arguments import BY_NAME, MARK, marked_arguments, masked_values, refusal
from weft.secrets.rule_matching import RULES
from weft.secrets.scanning import as_shown
from weft_schemas.policy import FirewallRules, SecretPattern

SECRET = "[secret:assigned_secret:4589e046]"
OTHER = "[secret:github_token]"


def test_a_mark_is_known_as_the_firewall_and_the_fold_write_it() -> None:
    rules = FirewallRules(secret_patterns=(SecretPattern("Our-badge_7", "BADGE-[0-9]+"),))
    for text in ("token: sk7Gh2Lq9xVb4Nm1Zt8R", "see BADGE-123456", "password = 'blue7harbour!'"):
        for shown in (scan(text, rules, KEY, 10).text, as_shown(text)):
            if shown != text:
                assert [one.path for one in marked_arguments({"a": shown})] == ["a"]
    assert all(MARK.fullmatch(f"[secret:{rule.name}:00000000]") for rule in RULES)


def test_the_rules_that_a_policy_can_lift_are_those_of_names() -> None:
    assert {rule.name for rule in RULES if rule.named} | {"assigned_secret", "password"} == BY_NAME


@pytest.mark.parametrize(
    "text", ["", "[secret]", "[secret:…]", "[secret:]", "secret:a:00000000", "[pii:email:0f0f0f0f]"]
)
def test_other_texts_are_no_marks(text: str) -> None:
    assert marked_arguments({"a": text, "b": [1, None, {"c": text}]}) == []


def test_every_argument_with_a_mark_is_named_by_its_path() -> None:
    arguments = {"a": [{"b": f"x {SECRET} y"}, 3], "c": OTHER, SECRET: 1, "d": "plain"}
    assert [(one.path, one.mark) for one in marked_arguments(arguments)] == [
        ("a[0].b", SECRET),
        ("c", OTHER),
        (SECRET, SECRET),
    ]
    assert [one.path for one in masked_values(arguments)] == ["c", SECRET]


def test_what_can_be_done_depends_on_why_it_is_masked() -> None:
    told = refusal("pay", marked_arguments({"code": SECRET}))
    assert told.startswith(f"pay was not called: its argument 'code' holds {SECRET}. ")
    assert "firewall.harmless_names" in told
    told = refusal("pay", marked_arguments(dict.fromkeys("abcde", OTHER)))
    assert "and 2 more hold such. " in told
    assert "harmless_names" not in told
    assert scan(told, FirewallRules(), KEY, 10) == msgspec.structs.replace(
        scan("", FirewallRules(), KEY, 10), text=told
    )


def call_of(arguments: Any) -> dict[str, Any]:
    written = msgspec.json.encode(arguments).decode()
    return {"id": "c", "function": {"name": "confirm_transfer", "arguments": written}}


async def test_a_session_does_not_call_a_tool_with_a_mark(caplog: Any) -> None:
    given: list[dict[str, Any]] = []
    call = call_of({"confirmation_token": SECRET})
    async with weft.testing.in_memory() as client:
        async with client.session("s") as s:
            s.add({"role": "assistant", "tool_calls": [call]})
            with caplog.at_level(logging.WARNING):
                assert await s.run(call, {"confirm_transfer": lambda **said: given.append(said)})
        [_, result] = await items_of(client, "s")
    assert given == []
    assert result.reserved.is_error
    assert "its argument 'confirmation_token' holds" in result.text
    assert "firewall.harmless_names" in result.text
    assert result.text in caplog.text


def test_nor_does_one_without_an_event_loop() -> None:
    given: list[str] = []
    marked, plain = (call_of({"confirmation_token": one}) for one in (SECRET, "CNF-88121-QX"))

    def confirm_transfer(confirmation_token: str) -> str:
        given.append(f"{confirmation_token} in {threading.current_thread().name}")
        return "done"

    with weft.testing.in_memory_sync() as client, client.session("s") as s:
        for call in (marked, plain):
            s.add({"role": "assistant", "tool_calls": [call]})
            s.run(call, {"confirm_transfer": confirm_transfer})
        s.flush()
    assert given == [f"CNF-88121-QX in {threading.current_thread().name}"]
