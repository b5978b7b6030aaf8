"""Which calls go through: a rule per pattern, else by what the tool says that it does."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal

from weft_schemas.routing import Effect

Rule = Literal["allow", "ask", "deny"]


def rule_of(tool_id: str, effect: Effect, rules: Mapping[str, Rule], host_sees_it: bool) -> Rule:
    """The rule for a call of `server:tool`.

    Without a pattern a destructive tool is asked about, unless the host sees the tool itself (mode
    `pass`): there the host asks its user, with the tool's own annotations.
    """
    for pattern, rule in rules.items():
        if fnmatchcase(tool_id, pattern):
            return rule
    return "ask" if effect is Effect.DESTROYS and not host_sees_it else "allow"


def allowed(tool_id: str, patterns: Mapping[str, bool]) -> bool:
    """Whether the first pattern that matches says yes; yes where none does."""
    return next((yes for glob, yes in patterns.items() if fnmatchcase(tool_id, glob)), True)
