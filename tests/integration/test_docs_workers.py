"""The Python blocks of docs/workers.md run as they stand; the first is the example."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.data import ROOT

PAGE = (ROOT / "docs" / "workers.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.S | re.M)
EXAMPLE, SEVERAL, INJECTED, WITHOUT_SERVER, WITH_SERVER = BLOCKS
GIVEN = """
from typing import Annotated

from faststream import Depends

from weft.workers import Deriver, Source, derives
from weft_schemas.events import SensitivityEvent, SummaryEvent

class Model: ...

def of_turn(source: Source) -> None: ...

def of_summary(source: Source) -> None: ...
"""
"""What the page takes for granted in its shorter blocks."""
ASKED = """
import asyncio

from weft_schemas.events import FactsEvent
from weft_schemas.items import ContextItem, ItemKind


async def test_the_worker_runs_beside_the_client(client):
    await client.publish("s1", ContextItem("u1", ItemKind.USER_TURN, "I was born on 1990-02-03."))
    async with asyncio.timeout(60):
        async for record in client.events("s1", follow=True):
            if isinstance(event := record.event(), FactsEvent):
                break
    assert (event.origin.worker, event.facts[0].value) == ("birthdays", "1990-02-03")
"""
"""A test for the fixture of the last block."""


def test_the_first_block_is_the_example() -> None:
    docstring, code = (ROOT / "examples" / "birthdays.py").read_text().split("\n\nimport ", 1)
    assert "import " + code == EXAMPLE
    assert "`weft work examples.birthdays:birthdays`" in docstring


def test_the_shorter_blocks_make_workers() -> None:
    names: dict[str, object] = {}
    exec(f"{GIVEN}\n{SEVERAL}\n{INJECTED}", names)
    assert {"worker", "levels"} <= names.keys()


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
    (tmp_path / "test_without_server.py").write_text(WITHOUT_SERVER)
    (tmp_path / "test_with_server.py").write_text(WITH_SERVER + ASKED)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "2 passed" in ran.stdout
