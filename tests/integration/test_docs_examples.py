"""The Python examples of the documents run as they stand, against the services."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.data import ROOT

from weft.client import Client
from weft.runtime.settings import read_settings
from weft.runtime.up import running
from weft_schemas.errors import Unavailable

EXAMPLES = [
    (name, code)
    for name in ("README.md", "docs/protocol.md")
    for code in re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(), re.S | re.M)
]
PATIENCE_SECONDS = 60


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Everything that `weft up` starts, once it answers."""
    folder: Path = tmp_path_factory.mktemp("docs")
    with (folder / "log").open("wb") as log:
        async with running(read_settings({}, data_dir=folder), log_file=log) as up:
            async with Client(up.settings) as client, asyncio.timeout(PATIENCE_SECONDS):
                while True:
                    try:
                        await client.status()
                        break
                    except Unavailable:
                        await asyncio.sleep(0.2)
            yield up.settings.nats_url


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
