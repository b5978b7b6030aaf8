"""What the two providers' APIs refuse, as checks: role order, answered calls, names, ids, blanks.
And what a request of either holds of calls and results, for tests that look at both alike.

Sources: OpenAI's Chat Completions reference and error messages (`tool_calls must be followed by
tool messages`, `string too long. Expected … 40`), Anthropic's Messages reference and error messages
(`tool_use ids were found without tool_result blocks immediately after`, `text content blocks must
be non-empty`, `tool_use ids must be unique`, `content cannot be empty if is_error is true`).
"""

from __future__ import annotations

import json
import re
from typing import Any

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
OPENAI_ID = re.compile(r".{1,40}\Z")
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
        assert set(message) == {"role", "content", "tool_calls"}
        assert message["content"] is None or message["content"].strip()
        assert role == "assistant"
        assert calls
        for call in calls:
            assert set(call) == {"id", "type", "function"}
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
        case other:
            raise AssertionError(other)
    return set()


def made_calls(arguments: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Id, name and arguments of each call in a request of either provider, in order."""
    found = []
    for message in arguments["messages"]:
        for call in message.get("tool_calls") or ():
            function = call["function"]
            found.append((call["id"], function["name"], json.loads(function["arguments"])))
        for block in _blocks(message, "tool_use"):
            found.append((block["id"], block["name"], block["input"]))
    return found


def results_of(arguments: dict[str, Any]) -> dict[str, str]:
    """By call id, the result in a request of either provider."""
    found = {}
    for message in arguments["messages"]:
        if message["role"] == "tool":
            found[message["tool_call_id"]] = message["content"]
        for block in _blocks(message, "tool_result"):
            found[block["tool_use_id"]] = block["content"]
    return found


def _blocks(message: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    content = message["content"]
    return [one for one in content if one["type"] == kind] if isinstance(content, list) else []
