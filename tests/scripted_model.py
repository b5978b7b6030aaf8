"""A model that says what its script says next, from the request alone: it reads the orders of a day
and of none, looks into what was shortened, and answers.

The stubs of libraries that are not installed here give what they would; OpenAI's own library asks a
server that speaks as OpenAI's does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from tests.json_server import JsonServer

ANSWER = "O-1237 with 9999"


def moves(request: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Names and arguments of the calls that come next, none where the answer does."""
    text = msgspec.json.encode(request).decode()
    handle = re.search(r"art:[a-z2-7]{10}", text)
    if "invalid isoformat" not in text.lower():
        return [("read_orders", {"day": "2026-11-14"}), ("read_orders", {"day": "no day"})]
    if '\\"total\\":9999' not in text and "total: 9999" not in text and handle:
        look = {"handle": handle[0], "view": "search", "args": {"pattern": "9999"}}
        return [("weft_drilldown", look)]
    assert "9999" in text
    return []


class OpenAI(JsonServer):
    """`with OpenAI() as server:` answers for chat completions and for responses."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def reply_to(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        self.requests.append((path, body))
        return 200, _chat(body) if "chat" in path else _responses(body)


def _chat(request: dict[str, Any]) -> dict[str, Any]:
    calls = [
        {
            "id": f"call_{len(request['messages'])}_{at}",
            "type": "function",
            "function": {"name": name, "arguments": msgspec.json.encode(given).decode()},
        }
        for at, (name, given) in enumerate(moves(request))
    ]
    message: dict[str, Any] = {"role": "assistant", "content": None if calls else ANSWER}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    return {
        "id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]
    }  # fmt: skip


def _responses(request: dict[str, Any]) -> dict[str, Any]:
    number = len(request["input"])
    kinds = [item.get("type") for item in request["input"]]
    assert ("reasoning" in kinds) == ("function_call" in kinds), "it thinks before it calls"
    reasoning = {"type": "reasoning", "id": f"rs_{number}", "summary": []}
    output: list[dict[str, Any]] = [
        reasoning | {"encrypted_content": f"gAAAAA{number}"},
        *(
            {
                "type": "function_call",
                "id": f"fc_{number}_{at}",
                "call_id": f"call_{number}_{at}",
                "name": name,
                "arguments": msgspec.json.encode(given).decode(),
                "status": "completed",
            }
            for at, (name, given) in enumerate(moves(request))
        ),
    ]
    if len(output) == 1:
        text = {"type": "output_text", "text": ANSWER, "annotations": []}
        said = {"type": "message", "id": "m", "role": "assistant", "status": "completed"}
        output.append(said | {"content": [text]})
    return {
        "id": "r", "object": "response", "created_at": 1, "model": "m", "output": output,
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "status": "completed",
    }  # fmt: skip


class Said:
    """An object of a provider's library: attributes, and `model_dump`."""

    def __init__(self, **held: Any) -> None:
        self.__dict__.update(held)

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return {key: _plain(held) for key, held in self.__dict__.items()}


def _plain(held: Any) -> Any:
    if isinstance(held, list):
        return [_plain(one) for one in held]
    return held.model_dump() if isinstance(held, Said) else held


def anthropic_message(**request: Any) -> Said:
    """As `AsyncAnthropic().messages.create` answers."""
    from tests.provider_rules import check_anthropic, check_thinking

    asked = {key: request[key] for key in ("messages", "system") if key in request}
    check_anthropic(asked)
    check_thinking(asked)
    blocks = [Said(type="thinking", thinking="…", signature="s")]
    for at, (name, given) in enumerate(moves(request)):
        use = f"toolu_{len(request['messages'])}_{at}"
        blocks.append(Said(type="tool_use", id=use, name=name, input=given))
    if len(blocks) == 1:
        blocks.append(Said(type="text", text=ANSWER, citations=None))
    return Said(role="assistant", content=blocks)


def gemini_reply(**request: Any) -> Said:
    """As `Client().aio.models.generate_content` answers."""
    from tests.provider_rules import check_gemini

    tools = request["config"].pop("tools")
    assert [len(tool["function_declarations"]) for tool in tools] == [2]
    check_gemini({key: request[key] for key in ("contents", "config")})
    calls = [Said(name=name, args=given, id=None) for name, given in moves(request)]
    parts = [
        Said(function_call=call, thought=None, text=None, thought_signature="c2lnbmVk")
        for call in calls
    ]
    sent = [part for content in request["contents"] for part in content["parts"]]
    assert all(one["thought_signature"] == b"signed" for one in sent if "function_call" in one)
    if not parts:
        parts = [Said(text=ANSWER, thought=None, function_call=None)]
    content = Said(role="model", parts=parts)
    return Said(candidates=[Said(content=content)], function_calls=calls, text=ANSWER)
