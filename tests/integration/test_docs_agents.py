"""docs/agents.md runs as it stands, for each provider, on the services with a scripted model."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.data import ROOT
from tests.integration.serving import everything
from tests.provider_rules import check_openai, check_responses
from tests.scripted_model import ANSWER, OpenAI

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEXT = (ROOT / "docs" / "agents.md").read_text()
TOOL, *BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.S | re.M)
PATIENCE_SECONDS = 120
STUBS = {
    "anthropic": """
from tests.scripted_model import anthropic_message, Said
class AsyncAnthropic:
    def __init__(self):
        async def create(**request):
            return anthropic_message(**request)
        self.messages = Said(create=create)
""",
    "google/genai/__init__": """
from tests.scripted_model import gemini_reply, Said
class Client:
    def __init__(self):
        async def generate_content(**request):
            return gemini_reply(**request)
        self.aio = Said(models=Said(generate_content=generate_content))
""",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    async with everything(tmp_path_factory.mktemp("agents")) as address:
        yield address


async def output(code: str, folder: Path, url: str, model: str = "") -> str:
    """What a block prints, beside the tool's file and the stubs of libraries."""
    for name, stub in {**STUBS, "orders": TOOL, "example": code}.items():
        file = folder / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(stub)
    paths = [str(folder), str(ROOT / "services"), str(ROOT / "schemas"), str(ROOT)]
    named = {"WEFT_NATS_URL": url, "OPENAI_BASE_URL": model, "OPENAI_API_KEY": "k"}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        folder / "example.py",
        env=os.environ | named | {"PYTHONPATH": os.pathsep.join(paths)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, complaint = await asyncio.wait_for(process.communicate(), PATIENCE_SECONDS)
    assert process.returncode == 0, complaint.decode()
    return out.decode()


def block(holding: str) -> str:
    (found,) = [code for code in BLOCKS if holding in code]
    return found


@pytest.mark.parametrize(
    ("library", "provider", "path"),
    [("openai", "openai", "chat/completions"), ("openai", "openai-responses", "responses")],
)
async def test_an_agent_on_openai_finds_the_order(
    url: str, tmp_path: Path, library: str, provider: str, path: str
) -> None:
    pytest.importorskip(library)
    with OpenAI() as model:
        code = block(f's.request("{provider}", tools=TOOLS)')
        assert ANSWER in await output(code, tmp_path, url, model.url)
    assert [asked for asked, _ in model.requests] == [f"/v1/{path}"] * 3
    check = check_openai if provider == "openai" else check_responses
    for _, request in model.requests:
        tools = [tool.get("function", tool)["name"] for tool in request.pop("tools")]
        assert tools == ["read_orders", "weft_drilldown"]
        check({key: request[key] for key in request.keys() - {"model", "store"}})


@pytest.mark.parametrize("library", ["from anthropic", "from google"])
async def test_an_agent_on_another_provider_finds_it_too(
    url: str, tmp_path: Path, library: str
) -> None:
    assert ANSWER in await output(block(library), tmp_path, url)


@pytest.mark.parametrize(
    ("holding", "printed"),
    [
        ("connect_sync", "largest"),
        ("publish_messages", r"2 1 0 \(\)"),
        ("publish_catalog", "argument `day`: is required and missing"),
        ("in_memory", "success|error|partial"),
    ],
)
async def test_every_other_block_runs(url: str, tmp_path: Path, holding: str, printed: str) -> None:
    assert re.search(printed, await output(block(holding), tmp_path, url))


async def test_every_block_is_run() -> None:
    assert len(BLOCKS) == 8
