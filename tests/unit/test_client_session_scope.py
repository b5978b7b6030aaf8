"""Whose memory the items of a session are."""

from __future__ import annotations

from typing import Any

import pytest
from tests.session_items import items_of

import weft
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind


async def test_what_names_no_scope_has_the_sessions_or_the_one_it_is_added_with() -> None:
    own = ContextItem("i", ItemKind.DOC_SNIPPET, "x", metadata={"scope": "project:1"})
    call = {"id": "c", "function": {"name": "look", "arguments": "{}"}}
    async with weft.testing.in_memory() as client:
        async with client.session("s", scope="user:42") as s:
            s.add({"role": "user", "content": "Hi"}, own)
            s.add({"role": "assistant", "tool_calls": [call]}, scope="user:43")
            await s.run(call, {"look": lambda: "seen"})
        items = await items_of(client, "s")
        scopes = [item.metadata["scope"] for item in items]
        assert scopes == ["user:42", "project:1", "user:43", "user:42"]
        async with client.session("h", scope="user:42") as s:
            await s.publish([{"role": "user", "content": "My name is Ada."}])
            await s.publish([{"role": "user", "content": "My name is Ada."}])
        await client.publish_messages("p", [{"role": "user", "content": "Hi"}], scope="user:9")
        [told], [given] = await items_of(client, "h"), await items_of(client, "p")
        assert (told.metadata, given.metadata) == ({"scope": "user:42"}, {"scope": "user:9"})
        pack = await client.compile("s", "answer", query="What is my name?")
        assert "Ada" in pack.prompt, "of the scope's other session"
        async with client.session("none") as s:
            s.add({"role": "user", "content": "Hi"})
        assert [item.metadata for item in await items_of(client, "none")] == [{}]


@pytest.mark.parametrize("scope", ["", " ", 7])
async def test_what_can_be_no_scope_is_refused(scope: Any) -> None:
    async with weft.testing.in_memory() as client:
        with pytest.raises(InvalidInput, match="scope is"):
            client.session("s", scope=scope)
        session = client.session("s")
        with pytest.raises(InvalidInput, match="scope is"):
            session.add({"role": "user", "content": "Hi"}, scope=scope)
        assert session.unsent == 0
