"""What the providers' APIs refuse, as checks: role order, answered calls, names, ids, blanks.
And what a request of any holds of texts, calls and results, for tests that look at all alike.

Sources: OpenAI's Chat Completions reference and error messages (`tool_calls must be followed by
tool messages`, `string too long. Expected … 40`), Anthropic's Messages reference and error messages
(`tool_use ids were found without tool_result blocks immediately after`, `text content blocks must
be non-empty`, `tool_use ids must be unique`, `content cannot be empty if is_error is true`),
OpenAI's Responses reference (`No tool output found for function call`), Gemini's reference and
error messages (`function call turn comes immediately after a user turn or after a function response
turn`, `the number of function response parts is equal to the number of function call parts`,
`Function call is missing a thought_signature in functionCall parts`,
`Invalid function name. Must start with a letter or an underscore`). Of reasoning: Anthropic's
extended thinking (`Expected thinking or redacted_thinking, but found tool_use. When thinking is
enabled, a final assistant message must start with a thinking block`), OpenAI's Responses
(`'function_call' was provided without its required 'reasoning' item`, `'reasoning' was provided
without its required following item`).
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
OPENAI_ID = re.compile(r".{1,40}\Z")
GEMINI_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}\Z")
CHAT_THOUGHTS = {"reasoning_content", "reasoning_details", "thinking_blocks"}
CHAT_SIGNATURES = {"extra_content", "provider_specific_fields"}
THINKING = ("thinking", "redacted_thinking")
ANTHROPIC_ID = re.compile(r"[A-Za-z0-9_-]+\Z")


def check_openai(arguments: dict[str, Any]) -> None:
    """Raise AssertionError where the API would answer 400."""
    assert set(arguments) == {"messages"}
    waiting: list[str] = []
    seen: set[str] = set()
    for at, message in enumerate(arguments["messages"]):
        role = message["role"]
        assert role in ("system", "user", "assistant", "tool"), role
        if role == "tool":
            assert set(message) == {"role", "tool_call_id", "content"}
            assert message["tool_call_id"] in waiting, "a result without its call just before"
            waiting.remove(message["tool_call_id"])
            assert message["content"].strip(), "a result needs content"
            continue
        assert not waiting, f"calls {waiting} are not answered at once"
        if role == "system":
            assert at == 0
        calls = message.get("tool_calls")
        if calls is None:
            assert set(message) == {"role", "content"}
            assert message["content"].strip()
            continue
        assert set(message) - CHAT_THOUGHTS == {"role", "content", "tool_calls"}
        assert message["content"] is None or message["content"].strip()
        assert role == "assistant"
        assert calls
        for call in calls:
            assert set(call) - CHAT_SIGNATURES == {"id", "type", "function"}
            assert call["type"] == "function"
            assert OPENAI_ID.match(call["id"])
            assert call["id"] not in seen
            seen.add(call["id"])
            assert NAME.match(call["function"]["name"]), call["function"]["name"]
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
        waiting = [call["id"] for call in calls]
    assert not waiting, f"calls {waiting} are never answered"
    json.dumps(arguments, allow_nan=False).encode()


def check_anthropic(arguments: dict[str, Any]) -> None:
    """Raise AssertionError where the API would answer 400."""
    assert set(arguments) <= {"messages", "system"}
    if "system" in arguments:
        assert arguments["system"].strip()
        assert arguments["messages"], "at least one message is wanted"
    seen: set[str] = set()
    waiting: set[str] = set()
    for at, message in enumerate(arguments["messages"]):
        assert set(message) == {"role", "content"}
        assert message["role"] == ("user", "assistant")[at % 2], "roles must alternate"
        blocks = message["content"]
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        assert blocks
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert sorted(results) == sorted(waiting), "all results, each once, and at once"
        kinds = [block["type"] for block in blocks]
        if set(THINKING) & set(kinds):
            assert kinds[0] in THINKING, "thinking stands first"
            assert "tool_use" in kinds[kinds.index(kinds[0]) :], "and leads to a call"
        assert kinds[: len(results)] == ["tool_result"] * len(results), "results stand first"
        waiting = set()
        for block in blocks:
            waiting |= _check_block(block, message["role"], seen)
    assert not waiting, f"calls {waiting} are never answered"
    if arguments["messages"]:
        assert arguments["messages"][-1]["role"] == "user", "no prefilled answer"
    json.dumps(arguments, allow_nan=False).encode()


def _check_block(block: dict[str, Any], role: str, seen: set[str]) -> set[str]:
    """Ids of calls that the next message must answer."""
    match block["type"]:
        case "text":
            assert block["text"].strip(), "text must be non-empty"
        case "tool_result":
            assert role == "user"
            assert block["content"].strip(), "a result, and an error most of all, needs content"
            assert block.get("is_error", True) is True
        case "tool_use":
            assert role == "assistant"
            assert ANTHROPIC_ID.match(block["id"])
            assert block["id"] not in seen, "tool_use ids must be unique"
            seen.add(block["id"])
            assert NAME.match(block["name"])
            assert isinstance(block["input"], dict)
            return {block["id"]}
        case "thinking":
            assert role == "assistant"
            assert set(block) == {"type", "thinking", "signature"}
            assert block["signature"]
        case "redacted_thinking":
            assert role == "assistant"
            assert block["data"]
        case other:
            raise AssertionError(other)
    return set()


def check_thinking(arguments: dict[str, Any]) -> None:
    """Raise AssertionError where Anthropic's API, with thinking enabled, would answer 400: an
    answer that goes on behind results begins with its thinking."""
    messages = arguments["messages"]
    if any(block["type"] == "tool_result" for block in messages[-1]["content"] if "type" in block):
        assert messages[-2]["content"][0]["type"] in THINKING, messages[-2]["content"][0]


def check_responses(arguments: dict[str, Any]) -> None:
    """Raise AssertionError where the API would answer 400."""
    assert set(arguments) <= {"input", "instructions"}
    assert arguments.get("instructions", "x").strip()
    waiting: list[str] = []
    seen: set[str] = set()
    thought = leads = False
    for item in arguments["input"]:
        if item.get("type") == "reasoning":
            assert item["encrypted_content"], "nothing of it is stored"
            assert not waiting
            thought = leads = True
            continue
        assert not leads or item.get("role") == "assistant" or item.get("type") == "function_call"
        leads = leads and item.get("role") == "assistant"
        thought = thought and (leads or item.get("type") == "function_call")
        match item.get("type"):
            case "function_call":
                assert set(item) - {"id"} == {"type", "call_id", "name", "arguments"}
                assert thought or "id" not in item, "a call by its id wants its reasoning"
                assert OPENAI_ID.match(item["call_id"])
                assert item["call_id"] not in seen
                assert NAME.match(item["name"])
                assert isinstance(json.loads(item["arguments"]), dict)
                seen.add(item["call_id"])
                waiting.append(item["call_id"])
            case "function_call_output":
                assert set(item) == {"type", "call_id", "output"}
                assert item["call_id"] in waiting, "an output without its call before"
                waiting.remove(item["call_id"])
                assert item["output"].strip()
            case None:
                assert set(item) == {"role", "content"}
                assert not waiting, f"calls {waiting} are not answered at once"
                assert item["role"] in ("user", "assistant")
                assert item["content"].strip()
            case other:
                raise AssertionError(other)
    assert not waiting, f"calls {waiting} are never answered"
    assert not leads, "reasoning leads to something"
    json.dumps(arguments, allow_nan=False).encode()


def check_gemini(arguments: dict[str, Any]) -> None:
    """Raise AssertionError where the API would answer 400."""
    assert set(arguments) == {"contents", "config"}
    assert set(arguments["config"]) <= {"system_instruction"}
    assert arguments["config"].get("system_instruction", "x").strip()
    waiting: list[str] = []
    for at, content in enumerate(arguments["contents"]):
        assert set(content) == {"role", "parts"}
        assert content["role"] == ("user", "model")[at % 2], "roles must alternate"
        assert content["parts"]
        answered = [part["function_response"] for part in content["parts"] if _answers(part)]
        assert [one["name"] for one in answered] == waiting, "all responses, in order, and at once"
        assert all(map(_answers, content["parts"][: len(answered)])), "responses stand first"
        waiting = []
        for part in content["parts"]:
            assert len(part) == 1 + ("thought_signature" in part)
            if "function_call" in part:
                call = part["function_call"]
                assert waiting or part["thought_signature"], "a step's first call has a signature"
                assert content["role"] == "model"
                assert set(call) == {"name", "args"}
                assert GEMINI_NAME.match(call["name"]), call["name"]
                assert isinstance(call["args"], dict)
                waiting.append(call["name"])
            elif _answers(part):
                assert content["role"] == "user"
                assert set(part["function_response"]) == {"name", "response"}
                ((outcome, text),) = part["function_response"]["response"].items()
                assert outcome in ("output", "error")
                assert text.strip()
            else:
                assert part["text"].strip()
    assert not waiting, f"calls {waiting} are never answered"
    if arguments["contents"]:
        assert arguments["contents"][-1]["role"] == "user"
    json.dumps(arguments, allow_nan=False, default=_base64).encode()


def _base64(signature: bytes) -> str:
    return b64encode(signature).decode()


def _answers(part: dict[str, Any]) -> bool:
    return "function_response" in part


def made_calls(arguments: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Id, name and arguments of each call in a request of any provider, in order."""
    found = []
    for item in arguments.get("input", ()):
        if item.get("type") == "function_call":
            found.append((item["call_id"], item["name"], json.loads(item["arguments"])))
    for part in _parts(arguments, "function_call"):
        found.append(("", part["name"], part["args"]))
    for message in arguments.get("messages", ()):
        for call in message.get("tool_calls") or ():
            function = call["function"]
            found.append((call["id"], function["name"], json.loads(function["arguments"])))
        for block in _blocks(message, "tool_use"):
            found.append((block["id"], block["name"], block["input"]))
    return found


def results_of(arguments: dict[str, Any]) -> dict[str, str]:
    """By call id, the result in a request of any provider; Gemini's by their number."""
    found = {}
    for item in arguments.get("input", ()):
        if item.get("type") == "function_call_output":
            found[item["call_id"]] = item["output"]
    for at, part in enumerate(_parts(arguments, "function_response")):
        found[str(at)] = next(iter(part["response"].values()))
    for message in arguments.get("messages", ()):
        if message["role"] == "tool":
            found[message["tool_call_id"]] = message["content"]
        for block in _blocks(message, "tool_result"):
            found[block["tool_use_id"]] = block["content"]
    return found


def texts_of(made: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Role and text of what is neither a call nor a result, in a request of any provider."""
    system = made.get("system") or made.get("instructions")
    system = system or made.get("config", {}).get("system_instruction")
    if system:
        yield "system", system
    for content in made.get("contents", ()):
        role = "assistant" if content["role"] == "model" else "user"
        yield from ((role, part["text"]) for part in content["parts"] if "text" in part)
    for message in (*made.get("messages", ()), *made.get("input", ())):
        content = message.get("content")
        if message.get("role") in (None, "tool") or content is None:
            continue
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        yield from ((message["role"], one["text"]) for one in blocks if one["type"] == "text")


def _parts(arguments: dict[str, Any], key: str) -> list[dict[str, Any]]:
    contents = arguments.get("contents", ())
    return [part[key] for content in contents for part in content["parts"] if key in part]


def _blocks(message: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    content = message["content"]
    return [one for one in content if one["type"] == kind] if isinstance(content, list) else []
