"""Hosts and servers that nobody here wrote, through the gateway: `make gateway` runs these, since
they are installed for it, which takes a minute."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.gateway import QUICK, called, free_port, gateway, host, logged, odd_server, text_of
from tests.npm import INSPECTOR, installed

from weft.gateway.configuration.config import ServerSpec
from weft.gateway.serving import serving_http
from weft.log.connection import Connection
from weft.supervision.embedded_server import EmbeddedServer

pytestmark = pytest.mark.slow
FRAMEWORK = "pydantic-ai-slim[mcp]==2.68.0"
AGENT = """
import asyncio, sys
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

STEPS = [
    ToolCallPart("find_tools", {"query": "returns many orders"}),
    ToolCallPart("call_tool", {"tool": "odd:big", "arguments": {"of": 1500}}),
]

def scripted(messages, info):
    returned = [p for m in messages for p in m.parts if isinstance(p, ToolReturnPart)]
    if len(returned) < len(STEPS):
        return ModelResponse(parts=[STEPS[len(returned)]])
    return ModelResponse(parts=[TextPart("\\n----\\n".join(str(p.content) for p in returned))])

async def main():
    agent = Agent(FunctionModel(scripted), toolsets=[MCPToolset(sys.argv[1])])
    print((await agent.run("Which orders are there?")).output)

asyncio.run(main())
"""


def framework() -> Path:
    """A Python with the framework, made once."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "weft-tests" / "framework"
    python = folder / "bin" / "python"
    if not (folder / FRAMEWORK).exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = [python, "-m", "pip", "install", "--quiet", FRAMEWORK]
        if subprocess.run(install, capture_output=True).returncode != 0:
            pytest.skip(f"{FRAMEWORK} could not be installed: is there no network?")
        (folder / FRAMEWORK).touch()
    return python


async def test_an_agent_of_a_framework_finds_and_calls_through_the_gateway(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    python = await asyncio.to_thread(framework)
    async with (
        gateway(server.url, tmp_path, odd_server()) as running,
        serving_http(running, *free_port()) as port,
    ):
        address = f"http://127.0.0.1:{port}/mcp"
        process = await asyncio.create_subprocess_exec(
            python, "-c", AGENT, address, stdout=asyncio.subprocess.PIPE
        )
        said = (await process.communicate())[0].decode()
    found, shown = said.split("\n----\n")
    assert "odd:big" in found
    assert "art:" in shown
    names = [item.metadata.get("tool_name") for item in await logged(log)]
    assert "odd:big" in names


async def test_the_inspector_lists_and_calls_through_the_gateway(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    inspector = await asyncio.to_thread(installed, INSPECTOR, "inspector")
    odd, config = odd_server(), tmp_path / "mcp.json"
    entry = {"command": odd.command, "args": list(odd.args)}
    config.write_text(json.dumps({"mcpServers": {"odd": entry}}))
    arguments = ["-m", "weft.cli.main", "gateway", "--config", str(config)]
    arguments += ["--data", str(tmp_path / "data"), "--mode", "pass"]
    environ = {
        "WEFT_NATS_URL": server.url,
        "WEFT_FINGERPRINT_KEY": "k" * 16,
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    ours = {"command": sys.executable, "args": arguments, "env": environ}
    hosts = tmp_path / "hosts.json"
    hosts.write_text(json.dumps({"mcpServers": {"weft": ours}}))

    async def inspect(*more: str) -> dict:
        process = await asyncio.create_subprocess_exec(
            inspector / "mcp-inspector", "--cli", "--config", hosts, "--server", "weft", *more,
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        return json.loads((await process.communicate())[0])

    names = [tool["name"] for tool in (await inspect("--method", "tools/list"))["tools"]]
    assert "odd__echo" in names
    call = ["--method", "tools/call", "--tool-name", "odd__echo", "--tool-arg", "text=hi"]
    result = await inspect(*call)
    assert json.loads(result["content"][0]["text"]) == {"text": "hi"}


async def test_files_and_memory_through_the_gateway(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    npm = await asyncio.to_thread(installed)
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "tide.csv").write_text(
        "hour,level\n" + "".join(f"{n},{n % 7}\n" for n in range(4_000))
    )
    files = ServerSpec(
        name="files", transport="stdio", command=str(npm / "mcp-server-filesystem"),
        args=(str(shared),), limits=QUICK,
    )  # fmt: skip
    memory = ServerSpec(
        name="memory", transport="stdio", command=str(npm / "mcp-server-memory"),
        env={"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}, limits=QUICK,
    )  # fmt: skip
    rules = {"files:write_file": "allow"}
    async with (
        gateway(server.url, tmp_path / "w", files, memory, tools=rules) as running,
        host(running) as client,
    ):
        read = text_of(await called(client, "files:read_text_file", path=str(shared / "tide.csv")))
        handle = read.split('handle="')[1][:14]
        copy = {"path": str(shared / "copy.csv"), "content": {"$weft": handle}}
        await called(client, "files:write_file", **copy)
        outside = await called(client, "files:read_text_file", path="/etc/passwd")
        assert outside.is_error
        entity = {"name": "tide", "entityType": "table", "observations": ["has 4,000 hours"]}
        await called(client, "memory:create_entities", entities=[entity])
        graph = await called(client, "memory:read_graph")
        assert "has 4,000 hours" in text_of(graph)
    assert (shared / "copy.csv").read_text() == (shared / "tide.csv").read_text()
