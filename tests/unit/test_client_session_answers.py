"""Whole answers of providers that are added to a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from openai.types.chat import ChatCompletion
from tests.session_items import items_of

import weft
from weft.messages import Format
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ItemKind


@dataclass
class Dumped:
    """An object of a provider's library."""

    made: dict[str, Any]

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return self.made


SAID = {"role": "assistant", "content": "Hello"}
OUTPUT = [
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]},
    {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
]
ANSWERS: dict[str, dict[str, Any]] = {
    "openai": {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": "stop", "message": SAID}],
        "usage": {"completion_tokens": 1, "prompt_tokens": 2, "total_tokens": 3},
    },
    "openai-responses": {"id": "resp_1", "object": "response", "output": OUTPUT, "model": "m"},
    "anthropic": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Hello"}],
        "stop_reason": "end_turn",
        "usage": {"output_tokens": 1},
    },
    "gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}}]},
}


@pytest.mark.parametrize("provider", ANSWERS)
async def test_a_whole_answer_is_added_as_its_message(provider: str) -> None:
    for given in (ANSWERS[provider], Dumped(ANSWERS[provider])):
        async with weft.testing.in_memory() as client:
            async with client.session("s") as s:
                s.add({"role": "user", "content": "Hi"}, given)
            items = await items_of(client, "s")
        assert [item.text for item in items][:2] == ["Hi", "Hello"]
        kinds = [item.kind for item in items[1:]]
        is_call = provider == "openai-responses"
        assert kinds == [ItemKind.AGENT_MSG, ItemKind.TOOL_CALL][: 1 + is_call]


async def test_a_whole_answer_of_openais_library_is_added() -> None:
    chat = ChatCompletion.model_validate(ANSWERS["openai"] | {"created": 1, "model": "m"})
    async with weft.testing.in_memory() as client:
        async with client.session("s") as s:
            s.add(chat)
        assert [item.text for item in await items_of(client, "s")] == ["Hello"]


async def test_an_answer_with_several_choices_is_refused_and_places_stay_those_given() -> None:
    several = {"choices": [{"message": SAID}, {"message": SAID}]}
    async with weft.testing.in_memory() as client:
        session = client.session("s")
        with pytest.raises(
            InvalidInput, match=r"messages\[1\]: an answer with 2 choices; add the m"
        ):
            session.add(SAID, several)
        with pytest.raises(InvalidInput, match=r"messages\[2\]"):
            session.add(SAID, ANSWERS["openai-responses"], {"role": "assistant", "content": 7})
        assert session.unsent == 0


EMPTY: list[dict[str, Any]] = [
    {"choices": [{"finish_reason": "length", "message": {"role": "assistant", "content": None}}]},
    {"candidates": [{"finishReason": "MAX_TOKENS", "content": {"role": "model"}}]},
    {"candidates": [{"finish_reason": "MAX_TOKENS", "content": {"role": "model", "parts": None}}]},
    {"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": []}}]},
    {"candidates": [{"finishReason": "SAFETY"}]},
    {"candidates": [{"finish_reason": "SAFETY", "content": None}]},
    {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}},
    {"candidates": None, "prompt_feedback": {"block_reason": "SAFETY"}},
]


@pytest.mark.parametrize("empty", EMPTY)
async def test_an_answer_that_says_nothing_adds_nothing(empty: dict[str, Any]) -> None:
    async with weft.testing.in_memory() as client:
        forms: tuple[Format, ...] = ("auto", "openai" if "choices" in empty else "gemini")
        async with client.session("s") as s:
            for format in forms:
                s.add(empty, format=format)
                s.add(Dumped(empty), format=format)
            s.add({"role": "user", "content": "Again"}, empty)
        assert [item.text for item in await items_of(client, "s")] == ["Again"]


async def test_what_is_no_providers_answer_is_refused() -> None:
    async with weft.testing.in_memory() as client:
        for other in ({"candidates": [{"name": "Ada"}]}, {"candidates": []}, {"choices": [{}]}):
            with pytest.raises(InvalidInput):
                client.session("s").add(other)


async def test_of_several_candidates_none_is_taken_even_if_one_says_nothing() -> None:
    several = {"candidates": [{"content": {"parts": [{"text": "a"}]}}, {"finishReason": "SAFETY"}]}
    async with weft.testing.in_memory() as client:
        with pytest.raises(InvalidInput, match="an answer with 2 candidates"):
            client.session("s").add(several)
