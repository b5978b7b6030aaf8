"""The public names have types: right use passes mypy strictly, wrong use does not."""

from pathlib import Path

import pytest
from mypy import api
from tests.data import ROOT

FOLDER = Path(__file__).parent


@pytest.mark.parametrize("name", ["agent.py", "mistakes.py"])
def test_the_public_interface_is_typed(name: str, tmp_path: Path) -> None:
    config = str(ROOT / "pyproject.toml")
    arguments = ["--config-file", config, "--warn-unused-ignores", str(FOLDER / name)]
    report, complaints, code = api.run(arguments)
    assert code == 0, report + complaints
