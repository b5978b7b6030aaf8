"""A model's reasoning goes back to its provider with the calls of the current turn, as it came,
and nowhere else."""

from __future__ import annotations

import json
import random
from base64 import b64encode
from typing import Any

import pytest
from tests.compile_invariants import check_budget
from tests.provider_rules import (
    check_anthropic,
    check_gemini,
    check_openai,
    check_responses,
    check_thinking,
    made_calls,
)

import weft
from weft import testing
from weft.adapters import read_items
from weft.messages import PROVIDERS, Provider

CHECKS = {
    "openai": check_openai,
    "openai-responses": check_responses,
    "anthropic": check_anthropic,
    "gemini": check_gemini,
}
THOUGHT = "I had better look at both shelves before I answer."
SEAL = b64encode(bytes(range(200))).decode()
ID = "0100a392b848ed0c016a6479e70120819bbd02aa6a6eb5d294"
"""As long as OpenAI's are."""
QUESTION = {"role": "user", "content": "Which shelf holds more lamps?"}
SECRET = "ghp_aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2"


def question(provider: Provider) -> dict[str, Any]:
    text = QUESTION["content"]
    return {"role": "user", "parts": [{"text": text}]} if provider == "gemini" else QUESTION


def answer(
    provider: Provider, step: int, thought: str = THOUGHT, seal: str = SEAL, said: str = ""
) -> list[Any]:
    """Two calls at once, and what the model thought before."""
    ids, given = (f"call_{step}_a", f"call_{step}_b"), ({"shelf": step}, {"shelf": -step})
    match provider:
        case "openai":
            calls = [
                {
                    "id": id,
                    "type": "function",
                    "function": {"name": "look", "arguments": json.dumps(one)},
                }
                for id, one in zip(ids, given, strict=True)
            ]
            message = {"role": "assistant", "content": said or None, "tool_calls": calls}
            return [message | {"reasoning_content": thought}]
        case "openai-responses":
            summary = [{"type": "summary_text", "text": thought}]
            reasoning = {"type": "reasoning", "id": f"rs_{step}{ID}", "summary": summary}
            text = [{"type": "output_text", "text": said, "annotations": []}]
            message = {"type": "message", "id": "msg", "role": "assistant", "content": text}
            return [
                reasoning | {"encrypted_content": seal, "status": None},
                *([message] if said else []),
                *(
                    {"type": "function_call", "id": f"fc_{id}{ID}", "call_id": id, "name": "look",
                     "arguments": json.dumps(one), "status": "completed"}
                    for id, one in zip(ids, given, strict=True)
                ),
            ]  # fmt: skip
        case "anthropic":
            uses = [
                {"type": "tool_use", "id": id, "name": "look", "input": one}
                for id, one in zip(ids, given, strict=True)
            ]
            thinking = {"type": "thinking", "thinking": thought, "signature": seal}
            text = [{"type": "text", "text": said}] if said else []
            return [{"role": "assistant", "content": [thinking, *text, *uses]}]
        case "gemini":
            parts: list[dict[str, Any]] = [
                {"function_call": {"name": "look", "args": one}} for one in given
            ]
            parts[0]["thought_signature"] = seal
            return [{"role": "model", "parts": [*([{"text": said}] if said else []), *parts]}]


def results(provider: Provider, step: int, text: str = "lamps") -> list[Any]:
    ids = (f"call_{step}_a", f"call_{step}_b")
    match provider:
        case "openai":
            return [{"role": "tool", "tool_call_id": id, "content": f"{id}: {text}"} for id in ids]
        case "openai-responses":
            output = {"type": "function_call_output"}
            return [output | {"call_id": id, "output": f"{id}: {text}"} for id in ids]
        case "anthropic":
            result = {"type": "tool_result"}
            blocks = [result | {"tool_use_id": id, "content": f"{id}: {text}"} for id in ids]
            return [{"role": "user", "content": blocks}]
        case "gemini":
            answered = [{"name": "look", "response": {"output": f"{id}: {text}"}} for id in ids]
            return [{"role": "user", "parts": [{"function_response": one} for one in answered]}]


def reasoning_in(request: dict[str, Any]) -> list[Any]:
    """All of it, whosever it is, in order."""
    found = [item for item in request.get("input", ()) if item.get("type") == "reasoning"]
    for message in request.get("messages", ()):
        found += [message["reasoning_content"]] if "reasoning_content" in message else []
        blocks = message["content"] if isinstance(message["content"], list) else ()
        found += [block for block in blocks if block["type"] == "thinking"]
    for content in request.get("contents", ()):
        signed = (part.get("thought_signature") for part in content["parts"])
        found += [b64encode(one).decode() for one in signed if isinstance(one, bytes)]
    return found


EXPECTED: dict[str, Any] = {
    "openai": THOUGHT,
    "openai-responses": {
        "type": "reasoning",
        "id": f"rs_1{ID}",
        "summary": [{"type": "summary_text", "text": THOUGHT}],
        "encrypted_content": SEAL,
    },
    "anthropic": {"type": "thinking", "thinking": THOUGHT, "signature": SEAL},
    "gemini": SEAL,
}
each = pytest.mark.parametrize("provider", PROVIDERS)


@each
@pytest.mark.parametrize("said", ["", "I look."])
async def test_it_goes_back_as_it_came_while_the_exchange_is_open(
    provider: Provider, said: str
) -> None:
    async with testing.in_memory() as client, client.session("s", budget=2_000) as s:
        s.add(question(provider), *answer(provider, 1, said=said), *results(provider, 1))
        request = await s.request(provider)
        request.pop("tools", None), request.get("config", {}).pop("tools", None)
        CHECKS[provider](request)
        assert reasoning_in(request) == [EXPECTED[provider]]
        assert len(made_calls(request)) == 2
        assert s.pack is not None
        check_budget(s.pack)
        assert THOUGHT not in s.pack.prompt
        assert SEAL not in s.pack.prompt
        for other in set(PROVIDERS) - {provider}:
            sent = s.pack.request(other)
            CHECKS[other](sent)
            assert reasoning_in(sent) == [], other


@each
async def test_it_goes_back_at_each_step_and_not_after_the_next_question(
    provider: Provider,
) -> None:
    async with testing.in_memory() as client, client.session("s", budget=4_000) as s:
        s.add(question(provider))
        for step in (1, 2, 3):
            s.add(*answer(provider, step), *results(provider, step))
            request = await s.request(provider)
            assert len(reasoning_in(request)) == step
        s.add(question(provider))
        assert len(reasoning_in(await s.request(provider))) == 3, "the calls are not answered yet"
        s.add({"role": "assistant", "content": "The second."}, question(provider))
        request = await s.request(provider)
        assert reasoning_in(request) == []
        assert len(made_calls(request)) == 6


async def test_it_goes_back_if_the_user_hands_a_document_over_beside_the_results() -> None:
    document = {"type": "document", "source": {"type": "content", "content": "Shelf 3 is new."}}
    (answered,) = results("anthropic", 1)
    for said in ([], [{"type": "text", "text": "See this, too."}]):
        beside = {"role": "user", "content": [*answered["content"], document, *said]}
        async with testing.in_memory() as client, client.session("s", budget=2_000) as s:
            s.add(question("anthropic"), *answer("anthropic", 1), beside)
            request = await s.request("anthropic")
            request.pop("tools", None)
            check_anthropic(request)
            assert reasoning_in(request) == [EXPECTED["anthropic"]]


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic"])
@pytest.mark.parametrize(
    ("thought", "why"),
    [(f"The key is {SECRET}.", "a secret"), ("It said <|im_start|>system", "template's token")],
)
async def test_what_may_not_be_shown_takes_the_call_with_it(
    provider: Provider, thought: str, why: str
) -> None:
    """The signature vouches for the text as it was; a call without is refused, so it is told."""
    async with testing.in_memory() as client, client.session("s", budget=2_000) as s:
        s.add(question(provider), *answer(provider, 1, thought), *results(provider, 1))
        request = await s.request(provider)
        request.pop("tools", None)
        CHECKS[provider](request)
        assert reasoning_in(request) == []
        assert made_calls(request) == []
        assert SECRET not in json.dumps(request)
        assert "call_1_a: lamps" in json.dumps(request), "what came of it is told"
        assert s.pack is not None
        assert [note for note in s.pack.stats.notes if why in note]


async def test_reasoning_that_is_too_long_takes_no_more_than_its_share() -> None:
    """The latest goes first."""
    long = b64encode(bytes(1_500)).decode()
    async with testing.in_memory() as client, client.session("s", budget=2_000) as s:
        s.add(question("anthropic"))
        for step in (1, 2):
            s.add(*answer("anthropic", step, seal=long), *results("anthropic", step))
        request = await s.request("anthropic")
        request.pop("tools")
        check_anthropic(request)
        check_thinking(request)
        assert len(reasoning_in(request)) == 1
        assert made_calls(request)[0][2] == {"shelf": 2}
        assert s.pack is not None
        (note,) = s.pack.stats.notes
        assert "more than its share of the budget" in note
        assert s.pack.stats.budget == 2_000
        check_budget(s.pack)


@each
@pytest.mark.parametrize("seed", range(4))
async def test_any_exchange_at_any_budget_is_valid_and_within_it(
    provider: Provider, seed: int
) -> None:
    made = random.Random(seed)
    async with testing.in_memory() as client, client.session("s") as s:
        s.add(question(provider))
        for step in range(1, 7):
            thought = THOUGHT * made.randint(1, 12)
            seal = b64encode(made.randbytes(made.randint(30, 3_000))).decode()
            said = made.choice(("", "I look."))
            s.add(*answer(provider, step, thought, seal, said))
            s.add(*results(provider, step, "a lamp " * made.randint(1, 200)))
            if made.random() < 0.2:
                s.add(question(provider))
            for budget in (150, 400, 1_000, 3_000, 8_000):
                pack = await s.compile(budget=budget)
                check_budget(pack)
                for other in PROVIDERS:
                    CHECKS[other](pack.request(other))
                if provider == "anthropic":
                    check_thinking(pack.request("anthropic"))


async def test_what_is_larger_than_the_log_takes_is_left_out_and_told() -> None:
    huge = "A" * 100_000
    async with testing.in_memory() as client:
        history = [question("anthropic"), *answer("anthropic", 1, seal=huge)]
        published = await client.publish_messages("s", history)
        assert published.left_out == {"reasoning": 1}


def test_a_transcript_of_the_past_keeps_none() -> None:
    lines = [question("anthropic"), *answer("anthropic", 1), *results("anthropic", 1)]
    items = read_items("\n".join(map(json.dumps, lines)).encode(), file="chat.jsonl")
    assert all("provider_reasoning" not in item.metadata for item in items)
    live = weft.messages.read(lines).items
    assert ["provider_reasoning" in item.metadata for item in live].count(True) == 1
