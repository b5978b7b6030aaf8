"""Paths, as a tool's rule writes them, as steps."""

from __future__ import annotations

import re

_STEP = re.compile(r'\[\s*(?:"((?:[^"\\]|\\.)*)"|(\d+|\*)?)\s*\]|([^.\[\]]+)')


def steps_of(path: str) -> tuple[str | int, ...]:
    """`invoices[].lines[3].number` as steps; `[]` and `*` match any step."""
    found: list[str | int] = []
    for match in _STEP.finditer(path.removeprefix("$").lstrip(".")):
        quoted, index, name = match.groups()
        if name is not None:
            found.append(name)
        elif quoted is not None:
            found.append(quoted)
        else:
            found.append(int(index) if index and index != "*" else "*")
    return tuple(found)
