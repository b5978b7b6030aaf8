"""What modules import, by their source."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

BODIES = ("body", "orelse", "handlers", "finalbody", "cases")
"""Fields of a statement that hold other statements, or hold parts that hold some."""


@cache
def imports_of(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Every import of a module, at its top or in a function."""
    every = statements(ast.parse(path.read_text(encoding="utf-8")).body)
    return tuple(node for node in every if isinstance(node, ast.Import | ast.ImportFrom))


def statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """These and all within them: an expression, most of a module, holds none."""
    for node in body:
        yield node
        for field in BODIES:
            yield from statements(getattr(node, field, ()))
