"""The command `weft` of an install that is not the full one."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest
from tests.data import ROOT


def entry() -> tuple[str, str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, function = project["scripts"]["weft"].partition(":")
    return module, function


def run(before: str) -> subprocess.CompletedProcess[str]:
    module, function = entry()
    code = f"import sys; {before}; sys.argv = ['weft', '--version']; "
    code += f"from {module} import {function}; {function}()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


@pytest.mark.parametrize("package", ["click", "rich"])
def test_without_what_the_command_line_needs_it_says_what_to_install(package: str) -> None:
    done = run(f"sys.modules[{package!r}] = None")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"needs {package}" in done.stderr
    assert "in weft's checkout: pip install '.[workers]'" in done.stderr


def test_with_it_the_command_runs() -> None:
    done = run("pass")
    assert (done.returncode, done.stderr) == (0, "")
    assert "version" in done.stdout


def test_its_module_is_a_program() -> None:
    module, _ = entry()
    command = [sys.executable, "-m", module, "--version"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "version" in done.stdout
