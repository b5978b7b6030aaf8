"""Imports run one way: a part of weft imports only what stands below it, and no service another."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.data import ROOT

SERVICES = "firewall summarizer memory compiler router"
LAYERS = (
    "cli testing",
    "integrations",
    "http gateway",
    "client replica_service",
    "audit",
    "indexer",
    "replay",
    SERVICES,
    "workers",
    "runtime",
    "readmodel",
    "log",
    "messages traces",
    "adapters completion",
    "passages",
    "secrets",
    "tokens days bodies bm25 leaves facts injections shingles",
    "model_encodings",
)
"""From the top; parts of one layer do not import each other."""
TOUCHES_NATS = re.compile(r"nats\b|weft\.log\.(?!record\b)|weft\.runtime\.(?!catalogues\b)")
"""But for the form of a record, and of a catalogue whose items are fetched by who is given."""
HEIGHT = {part: -number for number, layer in enumerate(LAYERS) for part in layer.split()}
WEFT = ROOT / "services" / "weft"


def part_of(path: Path) -> str:
    return path.relative_to(WEFT).with_suffix("").parts[0]


def names_in(path: Path) -> Iterator[str]:
    """Everything that a module imports, at its top or in a function, with its full name."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def imported(path: Path) -> Iterator[str]:
    """Parts of weft that a module imports."""
    return (name.split(".")[1] for name in names_in(path) if name.startswith("weft."))


MODULES = sorted(path for path in WEFT.rglob("*.py") if path != WEFT / "__init__.py")


@pytest.mark.parametrize("part", HEIGHT)
def test_a_part_imports_only_what_stands_below_it(part: str) -> None:
    modules = [path for path in MODULES if part_of(path) == part]
    assert modules
    found = {
        (str(path.relative_to(WEFT)), other)
        for path in modules
        for other in imported(path)
        if other != part and HEIGHT[other] >= HEIGHT[part]
    }
    assert found == set()


@pytest.mark.parametrize("service", SERVICES.split())
def test_only_the_worker_or_service_of_a_service_touches_nats(service: str) -> None:
    shell = {"worker.py", "service.py"}
    pure = [path for path in MODULES if part_of(path) == service and path.name not in shell]
    assert pure
    assert [path.name for path in pure if any(map(TOUCHES_NATS.match, names_in(path)))] == []


def test_every_part_has_its_layer() -> None:
    assert {part_of(path) for path in MODULES} == set(HEIGHT)


def test_the_product_does_not_know_what_measures_it() -> None:
    found = [path.name for path in MODULES for name in names_in(path) if "weft_eval" in name]
    assert found == []


def test_the_contract_imports_nothing_of_weft() -> None:
    contract = (ROOT / "schemas" / "weft_schemas").rglob("*.py")
    assert [path.name for path in contract if list(imported(path))] == []
