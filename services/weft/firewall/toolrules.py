"""Which rule of the policy holds for a tool, and its keep paths as steps."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from weft_schemas.policy import FirewallRules, ToolRule

_STEP = re.compile(r'\[\s*(?:"((?:[^"\\]|\\.)*)"|(\d+|\*)?)\s*\]|([^.\[\]]+)')


def rule_for(rules: FirewallRules, tool: str | None) -> ToolRule | None:
    """The first rule whose glob matches the tool's name."""
    return next((rule for rule in rules.tools if fnmatchcase(tool or "", rule.tool)), None)


def steps_of(path: str) -> tuple[str | int, ...]:
    """`invoices[].lines[3].number` as steps; `[]` and `*` stand for any step."""
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
