"""What the documents name exists: files, modules, settings and links."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.data import ROOT

from weft.runtime.settings import Settings
from weft_schemas.compile import ContextPack

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")], key=str)
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]


def spans(path: Path) -> Iterator[str]:
    """Everything in single backticks, outside of fenced blocks."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.S | re.M)
    yield from re.findall(r"`([^`\n]+)`", text)


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)
def test_every_path_exists(path):
    folders = r"(?:services|schemas|tests|deploy|docs|examples|requirements)/[\w./-]+"
    named = [span for span in spans(path) if re.fullmatch(folders, span)]
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_nothing_tells_to_install_the_project_that_has_our_name_on_the_package_index():
    places = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md", *ROOT.glob("services/**/*.py")]
    assert [str(path) for path in places if "weft[" in path.read_text()] == []


def test_the_protocol_names_every_field_of_a_pack():
    told = (ROOT / "docs" / "protocol.md").read_text().partition("`ContextPack`: ")[2]
    sentence = told.partition(".")[0]
    assert re.findall(r"`(\w+)`", sentence) == list(ContextPack.__struct_fields__)


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)
def test_every_named_test_exists(path):
    named = [span.split("::") for span in spans(path) if span.startswith("tests/") and "::" in span]
    for file, test in named:
        assert re.search(rf"def {test}\(", (ROOT / file).read_text()), f"{file} has no {test}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)
def test_every_link_inside_the_repository_leads_somewhere(path):
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text())
    assert [target for target in targets if not (path.parent / target).exists()] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)
def test_every_setting_exists(path):
    known = {f"WEFT_{name.upper()}" for name in Settings.__struct_fields__}
    deployment = {"WEFT_NODE", "WEFT_ROUTE_PASSWORD", "WEFT_DATA"}
    named = set(re.findall(r"\bWEFT_[A-Z_]+\b", path.read_text()))
    assert {name for name in named - known - deployment if not name.endswith("_PASSWORD")} == set()


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)
def test_every_row_of_a_table_has_as_many_cells_as_its_head(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.S | re.M)
    for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
        cells = [len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()]
        assert set(cells) == {cells[0]}, table.splitlines()[cells.index(max(cells))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)
def test_no_line_is_too_long_to_read(path):
    lines = path.read_text().splitlines()
    assert [line for line in lines if len(line) > 120 and not line.startswith("|")] == []


def test_the_architecture_names_every_part():
    text = (ROOT / "docs" / "architecture.md").read_text()
    parts = [path for path in (ROOT / "services" / "weft").iterdir() if path.is_dir()]
    named = [part.name for part in parts if f"`services/weft/{part.name}/`" in text]
    assert sorted(named) == sorted(part.name for part in parts if (part / "__init__.py").exists())
