"""Imports run one way: a part of weft imports only what stands below it, and no service another."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.data import ROOT
from tests.imports import imports_of

SERVICES = "firewall summarizer memory indexer compiler router"
FOLDS_IN_THE_READ_MODEL = {"indexer"}
"""Its pure part is a folder of its own, below."""
LAYERS = (
    "cli testing",
    "integrations",
    "http gateway",
    "client replica_service",
    "audit copies dead_letters rederive",
    SERVICES,
    "supervision",
    "workers",
    "runtime",
    "redaction",
    "erasure",
    "snapshots",
    "references",
    "readmodel",
    "log",
    "messages traces",
    "adapters language_model",
    "passages",
    "secrets",
    "tokens call_text days bodies bm25 leaves facts prompt_injection shingles terms",
    "whole_characters model_encodings json_or_yaml web_server file_lock durable_files parent_death",
    "part_kind prefilter progress recent_texts",
)
"""From the top; parts of one layer do not import each other."""
TOUCHES_NATS = re.compile(r"nats\b|weft\.log\.(?!record\b)|weft\.(?:runtime|supervision)\.")
"""Except the form of a record."""
HEIGHT = {part: -number for number, layer in enumerate(LAYERS) for part in layer.split()}
WEFT = ROOT / "services" / "weft"


def part_of(path: Path) -> str:
    return path.relative_to(WEFT).with_suffix("").parts[0]


@cache
def names_in(path: Path) -> tuple[str, ...]:
    """Everything that a module imports, at its top or in a function, with its full name."""
    names: list[str] = []
    for node in imports_of(path):
        if isinstance(node, ast.ImportFrom):
            names += (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            names += (alias.name for alias in node.names)
    return tuple(names)


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


@pytest.mark.parametrize("service", sorted(set(SERVICES.split()) - FOLDS_IN_THE_READ_MODEL))
def test_only_the_worker_or_service_of_a_service_touches_nats(service: str) -> None:
    shell = {"worker.py", "service.py"}
    pure = [path for path in MODULES if part_of(path) == service and path.name not in shell]
    assert pure
    assert [path.name for path in pure if any(map(TOUCHES_NATS.match, names_in(path)))] == []


@pytest.mark.parametrize("service", SERVICES.split())
def test_a_service_forwards_nothing_of_others(service: str) -> None:
    names = names_in(WEFT / service / "__init__.py")
    assert [name for name in names if not name.startswith(f"weft.{service}.")] == []


def test_every_part_has_its_layer() -> None:
    assert {part_of(path) for path in MODULES} == set(HEIGHT)


def test_the_product_does_not_know_what_measures_it() -> None:
    found = [path.name for path in MODULES for name in names_in(path) if "weft_eval" in name]
    assert found == []


def test_the_contract_imports_nothing_of_weft() -> None:
    contract = (ROOT / "schemas" / "weft_schemas").rglob("*.py")
    assert [path.name for path in contract if list(imported(path))] == []


PACKAGES = {"weft": WEFT, "weft_eval": WEFT.parent / "weft_eval"} | {
    "weft_schemas": ROOT / "schemas" / "weft_schemas"
}


def module_name(package: str, path: Path) -> str:
    parts = path.relative_to(PACKAGES[package]).with_suffix("").parts
    return ".".join((package, *(part for part in parts if part != "__init__")))


PATHS = {
    module_name(package, path): path
    for package, root in PACKAGES.items()
    for path in sorted(root.rglob("*.py"))
}


def needed(path: Path) -> set[str]:
    """Modules of ours that a module imports, anywhere in it."""
    found = set()
    for node in imports_of(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            found |= {name if name in PATHS else str(node.module) for name in names}
    return found & PATHS.keys()


def circles() -> set[frozenset[str]]:
    """Modules that need each other, directly or by others."""
    needs = {name: needed(path) - {name} for name, path in PATHS.items()}
    reached: dict[str, set[str]] = {}
    for name in needs:
        waiting, seen = list(needs[name]), set()
        while waiting:
            other = waiting.pop()
            if other not in seen:
                seen.add(other)
                waiting += needs[other]
        reached[name] = seen
    return {
        frozenset(other for other in reached[name] if name in reached[other])
        for name in needs
        if name in reached[name]
    }


def test_no_modules_need_each_other() -> None:
    """Not in a function either, nor for the type checker alone."""
    assert circles() == set()


def test_only_a_package_forwards_what_others_define() -> None:
    def forwards(path: Path) -> bool:
        body = [node for node in ast.parse(path.read_text()).body if not is_docstring(node)]
        return bool(body) and all(isinstance(node, ast.Import | ast.ImportFrom) for node in body)

    assert [
        name for name, path in PATHS.items() if forwards(path) and path.stem != "__init__"
    ] == []


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
