"""One module uses what nats-py keeps to itself, and it looks first whether each of it is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import nats
from tests.data import ROOT

from weft.log import nats_internals
from weft.log.nats_internals import INTERNALS

OURS = Path(nats_internals.__file__)
MODULES = [
    path
    for package in ("services/weft", "schemas/weft_schemas")
    for path in sorted((ROOT / package).rglob("*.py"))
]
OF_ASYNCIO = {"process._transport"}
"""Private to another library, under a name that nats-py has, too."""
BY_NAME = {"getattr", "setattr", "hasattr", "delattr"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text())))


@cache
def private_names() -> set[str]:
    """Private methods of nats-py's classes, and attributes that these give themselves."""
    found = set()
    for path in Path(nats.__file__).parent.rglob("*.py"):
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
    return {name for name in found if is_private(name)}


def uses(path: Path, own: bool) -> Iterator[tuple[str, str]]:
    """Private names of nats-py that a module uses, with the expression; of `self` only if `own`."""
    if not private_names().intersection(re.findall(r"\b_\w+", path.read_text())):
        return
    for node in nodes(path):
        if isinstance(node, ast.Attribute):
            if is_private(node.attr) and (own or not is_named(node.value, {"self"})):
                yield node.attr, ast.unparse(node)
        elif isinstance(node, ast.Call) and is_named(node.func, BY_NAME):
            yield ast.literal_eval(node.args[1]) if _is_text(node) else "", ast.unparse(node)
        elif isinstance(node, ast.ImportFrom) and str(node.module).startswith("nats."):
            yield from ((alias.name, ast.unparse(node)) for alias in node.names)


def is_named(node: ast.expr, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _is_text(call: ast.Call) -> bool:
    return isinstance(call.args[1], ast.Constant)


def test_no_other_module_uses_private_attributes_of_nats_py() -> None:
    assert {"_id", "_io_writer", "_process_msg"} <= private_names()
    found = [
        f"{path.relative_to(ROOT)}: {expression}"
        for path in MODULES
        if path != OURS
        for name, expression in uses(path, own=False)
        if name in private_names() and expression not in OF_ASYNCIO
    ]
    assert found == []


def test_each_one_used_is_looked_for_first() -> None:
    looked_for = {
        internal.partition("(")[0] for names in INTERNALS.values() for internal in names.split()
    }
    used = {name for name, _ in uses(OURS, own=True) if name in private_names()}
    assert used - looked_for == set()
    assert {name for name in looked_for if is_private(name)} - used == set()
