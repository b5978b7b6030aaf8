"""Services for the scripts of a module."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.frameworks.environment import PYTHON
from tests.integration.command_line import services


@pytest.fixture(scope="module", autouse=True)
def environment() -> None:
    assert Path(PYTHON).exists(), f"no {PYTHON}: run `make integrations`"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    async with services(tmp_path_factory.mktemp("frameworks") / "data") as address:
        yield address
