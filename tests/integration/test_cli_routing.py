"""Catalogues, routing and hydration by command, against running services."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.integration.command_line import services, weft

from weft.client import connect

pytestmark = pytest.mark.asyncio(loop_scope="module")

TOOLS = [
    {
        "name": "refund_payment",
        "description": "Give a customer's card payment back.",
        "inputSchema": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}},
            "required": ["order_id"],
        },
    },
    {"name": "get_weather", "description": "Tell the weather of a city.", "inputSchema": {}},
    {"name": "send_mail", "description": "Send an e-mail.", "inputSchema": {}},
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    async with services(tmp_path_factory.mktemp("up") / "data") as address:
        yield address


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    return catalogue(tmp_path / "tools.json", TOOLS)


def catalogue(file: Path, tools: list[dict[str, Any]]) -> Path:
    """The tools as an MCP server lists them."""
    file.write_text(json.dumps({"tools": tools}))
    return file


async def published(url: str, tools: Path, name: str) -> int:
    """Publish a catalogue and wait until the router has it; gives its version."""
    done = await weft("catalog", "publish", str(tools), "--name", name, "--json", url=url)
    assert done.json["items"] == len(TOOLS)
    version = int(done.json["version"])
    async with connect(url) as client:
        await client.route("mail", name, after=version, timeout=60)
    return version


async def test_a_catalogue_is_published_compared_and_routed(url: str, tools: Path) -> None:
    version = await published(url, tools, "shop")
    changed = [TOOLS[0], {**TOOLS[1], "description": "Weather."}, {**TOOLS[2], "name": "post"}]
    newer = catalogue(tools.with_name("newer.json"), changed)
    compared = await weft("catalog", "diff", str(newer), "-n", "shop", url=url)
    assert compared.out.splitlines() == ["+ post", "- send_mail", "~ get_weather: description"]
    asked = ["route", "give the money back", "-c", "shop", "-k", "2", "--json"]
    reply = (await weft(*asked, url=url)).json
    assert reply["catalog_version"] == version
    assert reply["cards"][0]["name"] == "refund_payment"
    assert "refund_payment" in (await weft(*asked[:-1], url=url)).out


async def test_a_tool_comes_with_the_sessions_values(url: str, tools: Path) -> None:
    await published(url, tools, "shop2")
    said = b'{"id": "u", "kind": "user_turn", "text": "please refund, my order_id is A-1733"}'
    ack = (await weft("publish", "-", "-s", "s1", "--json", url=url, given=said)).json
    folded = ["--after", str(ack["sequence"]), "--timeout", "60"]
    await weft("compile", "-s", "s1", "-p", "answer", *folded, url=url)
    asked = ["hydrate", "refund_payment", "-s", "s1", "-c", "shop2", "--json"]
    reply = (await weft(*asked, url=url)).json
    assert reply["values"]["order_id"][0]["value"] == "A-1733"
    assert reply["values"]["order_id"][0]["source"] == "u"


async def test_the_graph_is_drawn_from_a_file_or_the_log(url: str, tools: Path) -> None:
    drawn = await weft("graph", "--file", str(tools))
    assert drawn.out.startswith(("graph ", "flowchart "))
    await weft("catalog", "publish", str(tools), "--name", "drawn", url=url)
    built = (await weft("graph", "-n", "drawn", "--format", "json", url=url)).json
    assert {node["item"] for node in built["nodes"] if "item" in node} == {
        "refund_payment", "get_weather", "send_mail",
    }  # fmt: skip


async def test_what_is_wrong_is_named(url: str, tmp_path: Path) -> None:
    faulty = catalogue(tmp_path / "faulty.json", [{"name": "a", "description": 7}])
    done = await weft("catalog", "publish", str(faulty), url=url)
    assert done.code == 2
    assert str(faulty) in done.err
    absent = await weft("route", "anything", "-c", "nowhere", url=url)
    assert absent.code == 4
    assert "nowhere" in absent.err
