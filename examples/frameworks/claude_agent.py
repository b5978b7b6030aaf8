"""An agent of the Claude Agent SDK with weft at its doors.

    weft up &
    python examples/frameworks/claude_agent.py

Claude Code is the real one, the `claude` command that comes with the SDK: it calls the hooks, runs
the tools and writes the transcript. What it asks is a server on the loopback that speaks as
Anthropic's does, and follows the script.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import scenario
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ResultMessage,
    create_sdk_mcp_server,
    tool,
)
from claude_agent_sdk.testing import run_session_store_conformance
from scripted_endpoint import ScriptedEndpoint

import weft
from weft.integrations.claude_agent_sdk import BEFORE, WeftClaude

MCP = "mcp__shop__"
SESSION = os.environ.get("SESSION", "claude")


class ScriptedModel(ScriptedEndpoint):
    """Speaks Anthropic's Messages API."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []
        """What was sent with each request, as one text: prompts, results and the system's words."""

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """A message that says and calls what comes next."""
        messages = request["messages"]
        self.read.append("\n".join(_texts(messages, ("user", "system"))))
        step = sum(message["role"] == "assistant" for message in messages)
        text, calls = self.next(step, "\n".join(_texts(messages, ("user",))))
        content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        for one in calls:
            use = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": one.name}
            content.append(use | {"input": one.arguments})
        return {
            "id": f"msg_{uuid.uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "content": content,
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def failure(self, message: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}

    def streamed(self, said: dict[str, Any]) -> str:
        return "".join(_events(said))

    def next(self, step: int, sent: str) -> tuple[str, list[scenario.Call]]:
        """What the script says after so many answers; `sent` is what people and tools said."""
        scenario.check(step, sent, drills=False)
        text, calls = scenario.STEPS[step]
        return text, [one._replace(name=MCP + one.name) for one in calls]


def _texts(messages: list[Any], roles: Sequence[str]) -> Iterator[str]:
    """What these said; results are a user's. What a hook adds, Claude Code says as the system."""
    for message in messages:
        content = message["content"] if message["role"] in roles else ()
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            held = block["content"] if block["type"] == "tool_result" else block["text"]
            yield (
                held
                if isinstance(held, str)
                else "\n".join(_texts([message | {"content": held}], roles))
            )


def _events(said: dict[str, Any]) -> Iterator[str]:
    """A message as it is streamed."""

    def event(kind: str, **held: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **held})}\n\n"

    yield event("message_start", message=said | {"content": [], "stop_reason": None})
    for at, block in enumerate(said["content"]):
        if block["type"] == "text":
            empty, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            given = json.dumps(block["input"])
            empty, delta = (
                block | {"input": {}},
                {"type": "input_json_delta", "partial_json": given},
            )
        yield event("content_block_start", index=at, content_block=empty)
        yield event("content_block_delta", index=at, delta=delta)
        yield event("content_block_stop", index=at)
    ended = {"stop_reason": said["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=ended, usage={"output_tokens": 1})
    yield event("message_stop")


def shop() -> Any:
    """The scenario's tools as an MCP server."""
    made = []
    for function in scenario.TOOLS:
        named = {name: kind for name, kind in function.__annotations__.items() if name != "return"}
        types = {"str": str, "int": int}

        async def run(arguments: dict[str, Any], function: Any = function) -> dict[str, Any]:
            try:
                return {"content": [{"type": "text", "text": function(**arguments)}]}
            except ConnectionError as error:
                return {"content": [{"type": "text", "text": str(error)}], "is_error": True}

        schema = {name: types[kind] for name, kind in named.items()}
        made.append(tool(function.__name__, function.__doc__ or "", schema)(run))
    return create_sdk_mcp_server("shop", tools=made)


def asking(model: ScriptedModel, folder: str) -> dict[str, str]:
    """Environment in which `claude` asks the script, and nobody else."""
    return {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CONFIG_DIR": folder,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "MAX_MCP_OUTPUT_TOKENS": "200000",
    }


async def turn(client: weft.Client, work: str | None) -> list[str]:
    """One session of Claude Code, of which weft calls the work `work`; what its model read."""
    claude = WeftClaude(client, session=work, budget=scenario.BUDGET)
    with ScriptedModel() as model, tempfile.TemporaryDirectory() as folder:
        options = ClaudeAgentOptions(
            hooks=claude.hooks(),
            mcp_servers={"weft": claude.mcp_server(), "shop": shop()},
            allowed_tools=["mcp__weft__weft_drilldown", f"{MCP}*"],
            tools=[],
            setting_sources=[],
            session_store=claude.store(),
            session_store_flush="eager",
            cwd=folder,
            env=asking(model, folder),
        )
        async with ClaudeSDKClient(options) as sdk:
            await sdk.query(scenario.QUESTION)
            said = [message async for message in sdk.receive_response()]
    assert [one for one in said if isinstance(one, AssistantMessage)]
    assert isinstance(said[-1], ResultMessage)
    assert said[-1].result == scenario.ANSWER, said[-1]
    return model.read


async def main() -> None:
    async with weft.connect(lazily=True) as client:
        for work in (None, f"{SESSION}-one"):
            read = await turn(client, work)
            assert BEFORE not in read[0], "Claude Code has all of this work"
        await turn(client, f"{SESSION}-work")
        read = await turn(client, f"{SESSION}-work")
        if not os.environ.get("WITHOUT_WEFT"):
            assert BEFORE in read[0], "the same work in another session"
            assert scenario.ANSWER in read[0]
            await run_session_store_conformance(WeftClaude(client, session=f"{SESSION}-c").store)
    print(scenario.ANSWER)


if __name__ == "__main__":
    asyncio.run(main())
