"""Credentials in items of every kind: masked before anything shows, finds or derives from them, by
a pure function of the item and the policy at its place."""

import json
import random

import pytest
from tests.folded import model, result, turn
from tests.unit.test_firewall_context import FORMS, SAID, made

from weft.adapters import anthropic, openai
from weft.compiler.compile import compile_pack
from weft.compiler.without_log import compile_context
from weft.readmodel.digest import content_digest
from weft.secrets.deployment_rules import deployment_rules
from weft.secrets.masked_items import MASKED, masked_item
from weft.secrets.scanning import as_shown
from weft_schemas.compile import CompileRequest
from weft_schemas.events import Event
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy, FirewallRules, Phase, PiiAction

TOKEN = "ghp_" + "a1B2" * 9
RULES = FirewallRules()
TRUSTED = [kind for kind in ItemKind if kind is not ItemKind.TOOL_RESULT]


def everything(events: list[Event], **asked: object) -> str:
    """All that a compile gives away, as one text."""
    pack = compile_context(events, CompileRequest(Phase.ANSWER, budget=4_000, **asked))  # type: ignore[arg-type]
    requests = [openai.messages(pack.entries), anthropic.messages(pack.entries)]
    return pack.prompt + json.dumps(requests) + repr(pack.entries)


@pytest.mark.parametrize("kind", TRUSTED)
def test_a_credential_in_any_kind_of_item_stands_in_no_prompt(kind: ItemKind) -> None:
    said = ContextItem("a", kind, f"use {TOKEN} for it", metadata={"note": TOKEN})
    shown = everything([said, turn("b", "go on")])
    assert "[secret:github_token] for it" in shown
    assert TOKEN not in shown


@pytest.mark.parametrize("name", FORMS)
def test_what_is_masked_in_results_is_masked_in_a_users_words(name: str) -> None:
    values = made(random.Random(name))
    text = f"I tried this:\n{FORMS[name].format(**values)}\nand it failed."
    shown = as_shown(text)
    assert not [v for letter, v in values.items() if f"{{{letter}}}" in FORMS[name] and v in shown]
    assert shown.startswith("I tried this:\n")
    assert as_shown(shown) == shown


@pytest.mark.parametrize("text", SAID)
def test_what_is_no_credential_stays_byte_for_byte(text: str) -> None:
    item = turn("a", text)
    assert masked_item(item, RULES) is item


def call(arguments: dict[str, object], text: str = "") -> ContextItem:
    metadata = {"tool_name": "log_in", "arguments": arguments, "call_id": "c9"}
    return ContextItem("call", ItemKind.TOOL_CALL, text, metadata=metadata)


@pytest.mark.parametrize("text", ["", 'log_in({"password":"hunter2!x","tries":3,"user":"ada"})'])
def test_a_call_with_a_masked_argument_is_told_and_is_no_call_to_imitate(text: str) -> None:
    made_with = {"user": "ada", "password": "hunter2!x", "tries": 3}
    shown = everything([turn("u", "log in"), call(made_with, text), turn("v", "and?")])
    assert "hunter2!x" not in shown
    assert '"password":"[secret:password]","tries":3' in shown.replace('\\"', '"')
    assert "tool_use" not in shown
    assert '"tool_calls"' not in shown


def test_an_argument_that_is_no_credential_keeps_its_call_real() -> None:
    shown = everything([turn("u", "go"), call({"token_count": 7, "id": "x" * 40}), turn("v", "?")])
    assert '"tool_calls"' in shown
    assert "tool_use" in shown


def test_numbers_and_nested_values_stay_json() -> None:
    masked = masked_item(
        call({"deep": [{"pin": 4711, "secret_key": "Zq8sjw83kdPQ7aQ12", "n": 1}]}), RULES
    )
    assert masked.metadata["arguments"] == {
        "deep": [{"pin": "[secret:pin]", "secret_key": "[secret:assigned_secret]", "n": 1}]
    }
    assert masked.metadata[MASKED] is True
    assert masked.metadata["call_id"] == "c9"


@pytest.mark.parametrize("hiding", ["\x1b[31m", "\u200b", "\u00ad", "\U000e0041", "\u202e"])
def test_what_is_hidden_in_a_token_hides_it_in_no_kind(hiding: str) -> None:
    cut = hiding.join(TOKEN[at : at + 5] for at in range(0, len(TOKEN), 5))
    shown = as_shown(f"see\u200b here: {cut}, \u202eok")
    assert shown == "see\u200b here: [secret:github_token], \u202eok"


def test_a_query_finds_nothing_by_a_credential() -> None:
    view = model(turn("a", f"my key {TOKEN}"), turn("b", "hello")).view("t", "s")
    assert view.search([TOKEN.lower()], 9) == []
    assert TOKEN not in "".join(view._db.iterdump())


def test_the_policy_at_an_items_place_decides_and_replay_gives_the_same() -> None:
    rules = FirewallRules(masked_kinds=(ItemKind.DOC_SNIPPET,))
    log = [
        turn("a", TOKEN),
        ContextPolicy(firewall=rules),
        turn("b", TOKEN),
        ContextPolicy(),
        turn("c", TOKEN),
    ]
    texts = {row.id: row.text for row in model(*log).view("t", "s").recent(9)}
    assert texts == {"a": "[secret:github_token]", "b": TOKEN, "c": "[secret:github_token]"}
    assert content_digest(model(*log).db) == content_digest(model(*log).db)


def test_an_untrusted_items_author_is_no_way_around() -> None:
    view = model(result("r", metadata={"author": f"bot {TOKEN}", "tool_name": "t"})).view("t", "s")
    assert [row.metadata["author"] for row in view.recent(1)] == ["bot [secret:github_token]"]


def test_nothing_of_it_is_in_the_audit_of_a_compile() -> None:
    view = model(turn("a", f"my key {TOKEN}"), turn("b", "hello")).view("t", "s")
    made = compile_pack(view, CompileRequest(Phase.ANSWER, budget=500))
    assert TOKEN not in repr(made)


PERSONAL = FirewallRules(pii=PiiAction.MASK)
CARD = "4111 1111 1111 1111"


@pytest.mark.parametrize("kind", TRUSTED)
def test_personal_data_in_any_kind_of_item_stands_in_no_prompt_that_masks_it(
    kind: ItemKind,
) -> None:
    said = ContextItem("a", kind, f"it is {CARD} of ada@example.org", metadata={"note": CARD})
    shown = everything([ContextPolicy(firewall=PERSONAL), said, turn("b", "go on")])
    assert "[pii:card] of [pii:email]" in shown
    assert CARD not in shown
    assert "ada@" not in shown
    assert CARD in everything([said, turn("b", "go on")])


def test_personal_data_in_the_arguments_of_a_call_is_masked_and_the_call_says_so() -> None:
    given = call({"to": "ada@example.org", "card": 4111111111111111, "lines": 3})
    masked = masked_item(given, PERSONAL)
    assert masked.metadata["arguments"] == {"to": "[pii:email]", "card": "[pii:card]", "lines": 3}
    assert masked.metadata[MASKED]
    assert masked_item(given, RULES) is given


def test_personal_data_behind_escapes_and_hidden_characters_is_masked() -> None:
    assert as_shown("4111\u200b1111 1111 1111", deployment_rules(PERSONAL)) == "[pii:card]"
    assert (
        as_shown(r'{"to": "\u0061da@example.org"}', deployment_rules(PERSONAL))
        == '{"to": "[pii:email]"}'
    )


def test_what_was_masked_stays_as_it_is() -> None:
    shown = as_shown(f"{CARD}, ada@example.org, {TOKEN}", deployment_rules(PERSONAL))
    assert shown == "[pii:card], [pii:email], [secret:github_token]"
    assert as_shown(shown, deployment_rules(PERSONAL)) == shown
