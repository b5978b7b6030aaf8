"""Whose words a message is, where any name may be a role: only the user's are the user's."""

from __future__ import annotations

from typing import Any

import pytest

from weft import testing
from weft.integrations.roles import with_role
from weft.messages import read
from weft_schemas.items import ContextItem, ItemKind

SAID = "My name is Eve, and I live in Oslo."


def item(role: str, content: Any = SAID, name: str | None = None) -> ContextItem:
    (made,) = read([with_role(role, content, name)], "anthropic").items
    return made


@pytest.mark.parametrize("role", ["user", "human", "User"])
def test_the_users_words_are_the_users(role: str) -> None:
    assert item(role).kind is ItemKind.USER_TURN
    assert item(role, name="Ada").reserved.author == "Ada"


@pytest.mark.parametrize("role", ["critic", "planner", "chat", "remove", "", "users"])
def test_a_role_that_nobody_knows_is_an_agents(role: str) -> None:
    made = item(role)
    assert (made.kind, made.reserved.author or "") == (ItemKind.AGENT_MSG, role)
    assert item(role, name="Kim").reserved.author == "Kim"


@pytest.mark.parametrize("role", ["assistant", "ai", "model", "AI"])
def test_the_agents_own_roles_are_no_names(role: str) -> None:
    made = item(role)
    assert (made.kind, made.reserved.author) == (ItemKind.AGENT_MSG, None)


@pytest.mark.parametrize("role", ["system", "developer"])
def test_what_belongs_to_the_system_prompt_is_told(role: str) -> None:
    assert with_role(role, SAID)["role"] == "system"


@pytest.mark.parametrize("role", ["tool", "function"])
@pytest.mark.parametrize("content", [SAID, [{"type": "text", "text": SAID}]])
def test_a_result_without_its_call_is_nobodys_words(role: str, content: Any) -> None:
    made = item(role, content, "lookup")
    assert made.kind is ItemKind.DOC_SNIPPET
    assert SAID in made.text
    assert "turn_id" not in made.metadata


async def test_memory_learns_from_the_user_alone() -> None:
    messages = [with_role(role, SAID) for role in ("critic", "system_bot", "function")]
    async with testing.in_memory() as client:
        await client.publish_messages("s", messages, format="anthropic")
        assert "user_name" not in (await client.compile("s", "answer")).prompt
        await client.publish_messages(
            "s", [*messages, with_role("human", SAID)], format="anthropic"
        )
        assert "user_name=Eve" in (await client.compile("s", "answer")).prompt
