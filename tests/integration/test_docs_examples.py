"""The Python examples of the documents run as they stand, against the services."""

import asyncio
import os
import re
import shlex
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.data import ROOT
from tests.integration.command_line import weft
from tests.integration.serving import everything

EXAMPLES = [
    (name, code)
    for name in ("README.md", "docs/protocol.md")
    for code in re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(), re.S | re.M)
]
PATIENCE_SECONDS = 120


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Everything that `weft up` starts, once it answers."""
    async with everything(tmp_path_factory.mktemp("docs")) as address:
        yield address


@pytest.mark.parametrize(("name", "code"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
async def test_the_example_prints_a_prompt_with_its_item(url, tmp_path, name, code):
    script = tmp_path / "example.py"
    script.write_text(code)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        script,
        env=os.environ | {"WEFT_NATS_URL": url},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, complaint = await asyncio.wait_for(process.communicate(), PATIENCE_SECONDS)
    assert process.returncode == 0, complaint.decode()
    question = re.search(r'"((?:Where|Which)[^"]*\?)"', code)
    assert question
    assert question[1] in out.decode()


async def test_the_first_five_minutes_show_what_the_readme_says(url, monkeypatch):
    """The block of commands as pasted into an empty log's clone, and what is said of it below."""
    monkeypatch.chdir(ROOT)
    readme = (ROOT / "README.md").read_text()
    (block,) = re.findall(r"^```\n(weft publish .*?)^```", readme, re.S | re.M)
    publish, compile_, drilldown, status = (shlex.split(line)[1:] for line in block.splitlines())
    ack = (await weft(*publish, "--json", url=url)).json
    assert compile_[compile_.index("--after") + 1] == str(ack["count"])
    compile_[compile_.index("--after") + 1] = str(ack["sequence"])
    prompt = (await weft(*compile_, "--timeout", "60", url=url)).out
    (said,) = re.findall(r"says `([^`]*)`", readme)
    assert said in prompt
    assert drilldown[1] == "art:…"
    (drilldown[1],) = set(re.findall(r"art:[a-z2-7]{10}", prompt))
    found = await weft(*drilldown, url=url)
    assert "O-20614,2026-11-14T00:31:00-03:00,C-001,BR" in found.out
    assert (await weft(*status, url=url)).code == 0
