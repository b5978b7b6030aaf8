"""One version: the package, the changelog and the image say the same; CI runs what users run."""

import importlib.metadata
import re
import subprocess
import tomllib

import yaml
from tests.data import ROOT

import weft

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_package_tells_its_version() -> None:
    assert weft.__version__ == importlib.metadata.version("weft")
    assert "__version__" in dir(weft)


def test_the_changelog_begins_with_what_is_to_come_and_then_this_release() -> None:
    heads = re.findall(r"^## \[(.+?)\](?: - \d{4}-\d\d-\d\d)?$", changelog(), re.MULTILINE)
    assert heads[:2] == ["Unreleased", PROJECT["version"]]


def test_the_image_is_of_this_release() -> None:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())
    images = {service["image"] for service in compose["services"].values()}
    assert {image for image in images if image.startswith("weft:")} == {
        f"weft:{PROJECT['version']}"
    }


def test_ci_runs_the_test_command_on_the_python_that_make_asks_for() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())
    steps = workflow["jobs"]["test"]["steps"]
    python = re.search(r"^PYTHON \?= python(.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert python
    assert [step["run"] for step in steps if "run" in step] == ["make test"]
    assert [step["with"]["python-version"] for step in steps if "with" in step] == [python[1]]


def test_the_connection_is_tested_with_each_minor_version_of_nats_py_that_is_allowed() -> None:
    allowed = re.findall(r"nats-py.*>=2\.(\d+),<2\.(\d+)", (ROOT / "pyproject.toml").read_text())
    ((first, end),) = set(allowed)
    minors = [f"2.{minor}" for minor in range(int(first), int(end))]
    made = re.search(r"^NATS_PY \?= (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert made
    assert made[1].split() == minors
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())
    transport = workflow["jobs"]["transport"]
    assert transport["strategy"]["matrix"]["nats-py"] == minors
    assert transport["steps"][-1]["run"] == "make transport NATS_PY=${{ matrix.nats-py }}"


def test_every_test_that_make_names_is_there() -> None:
    made = subprocess.run(["make", "-pn", "help"], cwd=ROOT, capture_output=True, text=True)
    named = set(re.findall(r"\btests/[\w/]+\.py\b", made.stdout))
    assert len(named) > 10
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_hooks_check_what_lint_checks() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    entries = [hook["entry"].replace(" --force-exclude", "") for hook in hooks]
    lint = re.search(r"^lint: .*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert lint
    commands = [line.strip().removesuffix(" .") for line in lint[1].splitlines()]
    assert [entry.replace(".venv/bin", "$(BIN)") for entry in entries] == commands


def changelog() -> str:
    return (ROOT / "CHANGELOG.md").read_text()
