"""An agent of the Claude Agent SDK with weft at its doors.

    weft up &
    python examples/frameworks/claude_agent.py

`ScriptedClaudeCode` stands where the SDK starts the `claude` command: it speaks the SDK's protocol,
calls the hooks as Claude Code does, and follows a script instead of asking a model.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import scenario
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    Message,
    ResultMessage,
    Transport,
)
from claude_agent_sdk.testing import run_session_store_conformance

import weft
from weft.integrations.claude_agent_sdk import WeftClaude

MCP = "mcp__shop__"
SESSION = os.environ.get("SESSION", "claude")


class ScriptedClaudeCode(Transport):
    """One turn of Claude Code."""

    def __init__(self, session: str, folder: Path) -> None:
        self.session = session
        self.transcript = str(folder / "projects" / "shop" / f"{session}.jsonl")
        self.hooks: dict[str, str] = {}
        self.sent: list[str] = []
        """What the model has read, as texts."""
        self.context = ""
        self._to_sdk: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._replies: dict[str, asyncio.Future[Any]] = {}
        self._work: list[asyncio.Task[None]] = []

    async def connect(self) -> None:
        pass

    async def close(self) -> None:
        await self._to_sdk.put(None)

    async def end_input(self) -> None:
        pass

    def is_ready(self) -> bool:
        return True

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        while (message := await self._to_sdk.get()) is not None:
            yield message

    async def write(self, data: str) -> None:
        """What the SDK sends."""
        message = json.loads(data)
        if message["type"] == "control_request":
            registered = message["request"].get("hooks") or {}
            for event, matchers in registered.items():
                self.hooks[event] = matchers[0]["hookCallbackIds"][0]
            answer = {"subtype": "success", "request_id": message["request_id"], "response": {}}
            await self._to_sdk.put({"type": "control_response", "response": answer})
        elif message["type"] == "control_response":
            response = message["response"]
            self._replies.pop(response["request_id"]).set_result(response)
        else:
            prompt = message["message"]["content"]
            self._work.append(asyncio.create_task(self._turn(prompt)))

    async def hook(self, event: str, **given: Any) -> dict[str, Any]:
        """Ask a hook, as Claude Code does."""
        known = {"session_id": self.session, "transcript_path": self.transcript, "cwd": "/"}
        request = {
            "subtype": "hook_callback",
            "callback_id": self.hooks[event],
            "input": {**known, "hook_event_name": event, **given},
            "tool_use_id": given.get("tool_use_id"),
        }
        asked = f"cli_{uuid.uuid4()}"
        reply = self._replies[asked] = asyncio.get_running_loop().create_future()
        await self._to_sdk.put({"type": "control_request", "request_id": asked, "request": request})
        response = await reply
        assert response["subtype"] == "success", response
        said: dict[str, Any] = response["response"].get("hookSpecificOutput", {})
        assert said.get("hookEventName", event) == event
        return said

    async def mirror(self, role: str, content: Any) -> None:
        """Write to the transcript."""
        message = {"role": role, "content": content}
        entry = {"type": role, "uuid": str(uuid.uuid4()), "message": message}
        frame = {"type": "transcript_mirror", "filePath": self.transcript, "entries": [entry]}
        await self._to_sdk.put(frame)
        await asyncio.sleep(0.3)  # as long as a model takes at least

    async def _turn(self, prompt: str) -> None:
        said = await self.hook("UserPromptSubmit", prompt=prompt)
        self.context = said.get("additionalContext", "")
        await self.mirror("user", prompt)
        self.sent = [prompt]
        for step, (text, calls) in enumerate(scenario.STEPS):
            scenario.check(step, "\n".join(self.sent), drills=False)
            blocks: list[Any] = [{"type": "text", "text": text}] if text else []
            blocks += [
                {"type": "tool_use", "id": one.id, "name": MCP + one.name, "input": one.arguments}
                for one in calls
            ]
            await self.mirror("assistant", blocks)
            await self._say(blocks)
            results = await asyncio.gather(*map(self._call, calls))
            if results:
                await self.mirror("user", results)
                self.sent += [str(one["content"]) for one in results]
        await self.hook("Stop", stop_hook_active=False, last_assistant_message=text)
        result = {
            "type": "result",
            "subtype": "success",
            "duration_ms": 1,
            "duration_api_ms": 1,
            "is_error": False,
            "num_turns": len(scenario.STEPS),
            "session_id": self.session,
            "result": text,
        }
        await self._to_sdk.put(result)

    async def _say(self, blocks: list[Any]) -> None:
        message = {"role": "assistant", "model": "scripted", "content": blocks}
        frame = {"message": message, "session_id": self.session, "parent_tool_use_id": None}
        await self._to_sdk.put({"type": "assistant", **frame})

    async def _call(self, call: scenario.Call) -> dict[str, Any]:
        """Run a tool, as an MCP server does, and ask the hook what the model shall read."""
        known = {
            "tool_name": MCP + call.name,
            "tool_input": call.arguments,
            "tool_use_id": call.id,
        }
        answered = {"type": "tool_result", "tool_use_id": call.id}
        try:
            text = getattr(scenario, call.name)(**call.arguments)
        except ConnectionError as error:
            await self.hook("PostToolUseFailure", **known, error=str(error))
            return {**answered, "content": str(error), "is_error": True}
        output: Any = [{"type": "text", "text": text}]
        said = await self.hook("PostToolUse", **known, tool_response=output)
        shown = said.get("updatedToolOutput", output)
        assert [set(block) for block in shown] == [{"type", "text"}], "the form stays the tool's"
        return {**answered, "content": shown[0]["text"]}


async def turn(client: weft.Client, session: str, work: str | None) -> ScriptedClaudeCode:
    """One session of Claude Code, of which weft calls the work `work`."""
    claude = WeftClaude(client, session=work, budget=scenario.BUDGET)
    with tempfile.TemporaryDirectory() as folder:
        code = ScriptedClaudeCode(session, Path(folder))
        options = ClaudeAgentOptions(
            hooks=claude.hooks(),
            mcp_servers={"weft": claude.mcp_server()},
            session_store=claude.store(),
            session_store_flush="eager",
            env={"CLAUDE_CONFIG_DIR": folder},
        )
        said: list[Message] = []
        async with ClaudeSDKClient(options, transport=code) as sdk:
            await sdk.query(scenario.QUESTION)
            said = [message async for message in sdk.receive_response()]
    assert len([one for one in said if isinstance(one, AssistantMessage)]) == len(scenario.STEPS)
    assert isinstance(said[-1], ResultMessage)
    assert said[-1].result == scenario.ANSWER
    return code


async def main() -> None:
    async with weft.connect(lazily=True) as client:
        first = await turn(client, f"{SESSION}-one", None)
        assert first.context == "", "Claude Code has all of this session"
        await turn(client, f"{SESSION}-two", f"{SESSION}-work")
        third = await turn(client, f"{SESSION}-three", f"{SESSION}-work")
        if not os.environ.get("WITHOUT_WEFT"):
            assert scenario.ANSWER in third.context, "the same work in another session"
            await run_session_store_conformance(WeftClaude(client, session=f"{SESSION}-c").store)
    print(scenario.ANSWER)


if __name__ == "__main__":
    asyncio.run(main())
