"""No secret leaves in anything that a server says, wherever it stands: in `_meta`, links, titles,
descriptions, addresses, types."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from pydantic import BaseModel
from tests.gateway import called, gateway, host, logged, odd_server, text_of
from tests.gateway_server import BYTES

from weft.log.connection import Connection
from weft.supervision.embedded_server import EmbeddedServer

PROTOCOLS = ["legacy", "2026-07-28"]


@pytest.fixture(params=PROTOCOLS)
def marked(request: Any, log: Connection, server: EmbeddedServer, tmp_path: Path) -> Any:
    """Opens a host's client of a gateway before the server that says too much."""

    @asynccontextmanager
    async def opened(mode: str = "search") -> AsyncIterator[Client]:
        made = gateway(server.url, tmp_path / mode, odd_server("odd", "marked"), mode=mode)
        async with made as running, host(running, request.param) as client:
            yield client

    return opened


def written(model: BaseModel) -> str:
    """As it goes to the host, which holds no piece of the secret."""
    text = model.model_dump_json(by_alias=True, exclude_none=True)
    assert "AKIA" not in text
    return text


@pytest.mark.parametrize("words", [1, 20_000])
async def test_a_result_says_no_secret_beside_its_text(marked: Any, words: int) -> None:
    """Small, and shortened."""
    async with marked() as client:
        result = await called(client, "odd:marks", words=words)
    written(result)
    assert not result.is_error
    assert result.meta is not None
    assert result.meta["deep"][0]["told"].startswith("at [secret:")
    assert isinstance(result.content[0], types.TextContent)
    assert "plain plain" in result.content[0].text or words == 1
    images = [block for block in result.content if isinstance(block, types.ImageContent)]
    assert [block.data for block in images] == [BYTES]
    links = [block for block in result.content if isinstance(block, types.ResourceLink)]
    assert [link.uri[:24] for link in links] == ["weft://odd/odd://[secret"]


async def test_resources_say_no_secret(marked: Any) -> None:
    async with marked() as client:
        listed = await client.list_resources()
        templates = await client.list_resource_templates()
        read = await client.read_resource(listed.resources[0].uri)
    written(listed)
    assert listed.resources[0].name == "tide"
    assert listed.resources[0].description.startswith("[secret:")
    written(templates)
    assert templates.resource_templates[0].uri_template == "weft://odd/odd://{x}"
    written(read)
    assert read.contents[0].text == "high"
    assert read.contents[1].blob == BYTES


async def test_prompts_and_completions_say_no_secret(marked: Any) -> None:
    async with marked() as client:
        listed = await client.list_prompts()
        prompt = listed.prompts[0]
        got = await client.get_prompt(prompt.name)
        place = types.PromptReference(name=prompt.name)
        completed = await client.complete(place, {"name": "who", "value": "a"})
    written(listed)
    assert [one.name for one in prompt.arguments or ()] == ["who"]
    written(got)
    assert [one.content.type for one in got.messages] == ["text", "resource_link"]
    written(completed)
    assert completed.completion.values == ["ada"]


async def test_tools_say_no_secret_of_themselves(marked: Any) -> None:
    async with marked() as client:
        for arguments in ({"query": "a tool that is noted"}, {"tools": ["odd:noted"]}):
            assert "odd:noted" in written(await client.call_tool("find_tools", arguments))
    async with marked("pass") as client:
        listed = await client.list_tools()
    written(listed)
    noted = next(tool for tool in listed.tools if tool.name == "odd__noted")
    assert noted.meta is not None
    assert noted.meta["key"].startswith("[secret:")


MARK = "[secret:aws_access_key:4589e046]"


@pytest.mark.parametrize("mode", ["search", "pass"])
async def test_no_server_gets_a_mark_for_a_secret(
    log: Connection, server: EmbeddedServer, tmp_path: Path, mode: str
) -> None:
    """Copied by the model, or at the path of a handle; a whole result may hold marks."""
    echo = {"tool": "odd:echo"} if mode == "search" else {}
    name = "call_tool" if mode == "search" else "odd__echo"
    made = gateway(server.url, tmp_path, odd_server(), mode=mode)
    async with made as running, host(running) as client:

        async def echoed(text: Any) -> types.CallToolResult:
            given = {**echo, "arguments": {"text": text}} if echo else {"text": text}
            return await client.call_tool(name, given)

        refused = await echoed(f"with {MARK}")
        assert refused.is_error
        assert f"odd:echo was not called: its argument 'text' holds {MARK}. " in text_of(refused)
        plain = await echoed("a [secret] and [secret:…]")
        assert not plain.is_error
    items = await logged(log)
    assert [item.text for item in items if item.metadata.get("refused")] == [text_of(refused)]


async def test_no_server_gets_one_by_a_handle(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    text = json.dumps({"confirmation_token": "k3J9" * 8, "rows": ["a row of many"] * 3_000})
    (tmp_path / "big.json").write_text(text)
    made = gateway(server.url, tmp_path / "w", odd_server("odd", "reads"))
    async with made as running, host(running) as client:
        shown = text_of(await called(client, "odd:reads", path=str(tmp_path / "big.json")))
        handle = re.search(r"art:[a-z2-7]{10}", shown).group()  # type: ignore[union-attr]
        part = {"$weft": handle, "path": "confirmation_token"}
        refused = await called(client, "odd:echo", text=part)
        whole = await called(client, "odd:echo", text={"$weft": handle})
    assert refused.is_error
    assert "its argument 'text' holds [secret:assigned_secret:" in text_of(refused)
    assert "firewall.harmless_names" in text_of(refused)
    assert not whole.is_error
