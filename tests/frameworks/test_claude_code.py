"""What the real `claude` command does beyond its example: outputs of its own tools in their own
forms, a session that is resumed from the store, a compaction."""

from __future__ import annotations

import pytest

from tests.frameworks.environment import logged, run
from weft_schemas.items import ItemKind

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

PROGRAM = """
import asyncio, shutil
from pathlib import Path

import weft
from claude_agent import ScriptedModel, asking
from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    InMemorySessionStore,
    ResultMessage,
    create_sdk_mcp_server,
    tool,
)
from scenario import Call
from weft.integrations.claude_agent_sdk import BEFORE, WeftClaude

FOLDER = Path.cwd()
INNER = InMemorySessionStore()


class Model(ScriptedModel):
    def __init__(self, *steps):
        super().__init__()
        self.steps = iter(steps)

    def next(self, step, sent):
        return next(self.steps)

    def answer(self, request):
        said = super().answer(request)
        self.results = [
            block["content"] if isinstance(block["content"], str) else block["content"][0]["text"]
            for message in request["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
            if block["type"] == "tool_result"
        ]
        return said


async def ask(model, claude, *prompts, servers={}, **options):
    made = ClaudeAgentOptions(
        hooks=claude.hooks(),
        mcp_servers={"weft": claude.mcp_server(), **servers},
        setting_sources=[],
        permission_mode="bypassPermissions",
        session_store=claude.store(INNER),
        session_store_flush="eager",
        cwd=FOLDER,
        env=asking(model, str(FOLDER / ".claude")) | {"IS_SANDBOX": "1"},
        **options,
    )
    ended = []
    async with ClaudeSDKClient(made) as sdk:
        for prompt in prompts:
            await sdk.query(prompt)
            ended += [one async for one in sdk.receive_response() if isinstance(one, ResultMessage)]
    assert not any(one.is_error for one in ended), ended
    return ended[-1].session_id
"""

OWN_TOOLS = """
TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2"


@tool("keys", "Keys, structured.", {})
async def keys(arguments):
    return {"content": [{"type": "text", "text": '{"key": "' + TOKEN + '"}'}],
            "structuredContent": {"key": TOKEN, "of": "the shop"}}


async def main():
    lines = [f"line {n}: the lamp {n * 37 % 991} stands on shelf {n % 17}" for n in range(1, 1_801)]
    Path("lamps.txt").write_text("\\n".join(lines))
    Path("notes.txt").write_text(f"the key is {TOKEN}")
    calls = [
        Call("", "Read", {"file_path": str(FOLDER / "lamps.txt"), "limit": 20}),
        Call("", "Read", {"file_path": str(FOLDER / "lamps.txt"), "limit": 400}),
        Call("", "Read", {"file_path": str(FOLDER / "notes.txt")}),
        Call("", "Bash", {"command": "cat lamps.txt", "description": "all lamps"}),
        Call("", "Bash", {"command": "cat notes.txt", "description": "the notes"}),
        Call("", "Write", {"file_path": str(FOLDER / "new.txt"), "content": "\\n".join(lines)}),
        Call("", "mcp__keys__keys", {}),
        Call("", "Bash", {"command": "ls /nowhere", "description": "fails"}),
    ]
    server = create_sdk_mcp_server("keys", tools=[keys])
    async with weft.connect() as client:
        with Model(*(("", [call]) for call in calls), ("done", [])) as model:
            claude = WeftClaude(client, session="own-tools", budget=1_000)
            await ask(model, claude, "Read the lamps.", servers={"keys": server})
    few, many, notes, everything, noted, written, structured, failed = model.results
    assert few.startswith("1\\tline 1: the lamp 37 stands"), few
    assert "20\\tline 20: " in few, few
    assert "line 1: the lamp 37 stands" in many and "[art:" in many, many
    assert len(many) < 6_000
    assert "the key is " in notes, notes
    assert len(everything) < 6_000 and "[art:" in everything, everything
    assert "the key is " in noted, noted
    assert "new.txt" in written and len(written) < 1_000, written
    assert 'key' in structured, structured
    assert "No such file" in failed, failed
    assert TOKEN not in "\\n".join(model.read), "a secret that a tool showed"

asyncio.run(main())
"""

RESUMED = """
async def main():
    async with weft.connect() as client:
        with Model(("Seven.", []), ("Eight.", [])) as model:
            claude = WeftClaude(client, session="resumed", budget=2_000)
            first = await ask(model, claude, "How many lamps?")
            shutil.rmtree(FOLDER / ".claude")  # what is left is the store
            claude = WeftClaude(client, session="resumed", budget=2_000)
            again = await ask(model, claude, "And now?", resume=first)
    assert again == first
    assert "How many lamps?" in model.read[1], "Claude Code has it from the store"

asyncio.run(main())
"""

COMPACTED = """
async def main():
    steps = [("Seven lamps.", []), ("<summary>lamps were counted</summary>", []), ("Seven.", [])]
    async with weft.connect() as client:
        with Model(*steps) as model:
            claude = WeftClaude(client, session="compacted", budget=2_000)
            await ask(model, claude, "How many lamps?", "/compact", "How many were it?")
    assert BEFORE not in model.read[0]
    assert BEFORE in model.read[-1], model.read[-1]
    assert "agent: Seven lamps." in model.read[-1], "what the compaction took comes back"

asyncio.run(main())
"""


async def test_outputs_of_its_own_tools_reach_the_model_through_the_firewall(url, tmp_path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM + OWN_TOOLS)
    await run(script, tmp_path, url)
    items = await logged(url, "own-tools")
    assert [item.kind for item in items].count(ItemKind.TOOL_RESULT) == 8
    assert [bool(item.reserved.is_error) for item in items].count(True) == 1


async def test_a_session_that_is_resumed_from_the_store_doubles_nothing(url, tmp_path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM + RESUMED)
    await run(script, tmp_path, url)
    items = await logged(url, "resumed")
    assert [item.text for item in items] == ["How many lamps?", "Seven.", "And now?", "Eight."]


async def test_what_a_compaction_takes_comes_back_with_the_next_prompt(url, tmp_path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM + COMPACTED)
    await run(script, tmp_path, url)
