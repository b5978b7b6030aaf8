"""Tokens of messages are those of what each provider is sent, though no messages are made."""

from typing import Any

import pytest
from tests.compile_invariants import message_tokens as sent_tokens

from weft.adapters import anthropic, gemini, openai, responses
from weft.compiler.rendering.counting import counter
from weft.compiler.rendering.message_tokens import message_tokens
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind

ENCODING = "o200k_base"
MADE = {
    "openai": openai.messages,
    "openai-responses": responses.messages,
    "anthropic": anthropic.messages,
    "gemini": gemini.messages,
}


def said(item_id: str, kind: ItemKind, text: str, section: str = "context") -> PackEntry:
    return PackEntry(item_id, kind, text, section)


def call(item_id: str, name: str, arguments: dict[str, Any] | None, **more: Any) -> PackEntry:
    text = f"{name}({arguments})"
    return PackEntry(
        item_id, ItemKind.TOOL_CALL, text, "context", tool_name=name, arguments=arguments,
        call_id=item_id, **more,
    )  # fmt: skip


def result(of: str, text: str, **more: Any) -> PackEntry:
    return PackEntry(
        f"r{of}", ItemKind.TOOL_RESULT, text, "context", parent_id=of, call_id=of, **more
    )


POLICY = said("p", ItemKind.POLICY, "Be brief.", "policy")
MEMORY = said("", ItemKind.MEMORY_FACT, "facts: a=1", "header")
ASKED = said("u", ItemKind.USER_TURN, "Pay it, please.")
TOLD = said("a", ItemKind.AGENT_MSG, "I will pay it.")
TURN = [
    call("c1", "2nd.pay", {"id": 7, "to": "Zoë"}, turn_id="t"),
    call("c2", "get", {}, turn_id="t"),
    result("c1", "too much", is_error=True),
    result("c2", ""),
]


@pytest.mark.parametrize(
    "entries",
    [
        [ASKED],
        [POLICY, MEMORY],
        [MEMORY, TOLD, ASKED],
        [POLICY, MEMORY, ASKED, TOLD, *TURN],
        [*TURN, TOLD, call("c3", "get", {"id": 1}), ASKED],
        [ASKED, call("c4", "edit", None), result("c4", "done"), TOLD, *TURN],
        [ASKED, TOLD, result("gone", "of a call that is not shown"), TOLD],
    ],
)
@pytest.mark.parametrize("provider", MADE)
def test_tokens_are_those_of_the_messages(entries: list[PackEntry], provider: str) -> None:
    count = counter(ENCODING)
    sent = sent_tokens(MADE[provider](entries), ENCODING)
    if provider == "anthropic":  # the only mark that is no text
        sent += count("is_error") * sum(one.is_error for one in entries)
    assert message_tokens(entries, count)[provider] == sent
