"""Which calls are allowed: by the first matching rule, else by the tool's annotations."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal

from weft_schemas.routing import Effect

Rule = Literal["allow", "ask", "deny"]


def rule_of(tool_id: str, effect: Effect, rules: Mapping[str, Rule], host_sees_it: bool) -> Rule:
    """The rule for a call of `server:tool`. If no pattern matches, a destructive tool is asked
    about, except in mode `pass`: there the host sees the tool's annotations and asks its user."""
    for pattern, rule in rules.items():
        if fnmatchcase(tool_id, pattern):
            return rule
    return "ask" if effect is Effect.DESTROYS and not host_sees_it else "allow"


def allowed(tool_id: str, patterns: Mapping[str, bool]) -> bool:
    """The value of the first matching pattern; true if none matches."""
    return next((yes for glob, yes in patterns.items() if fnmatchcase(tool_id, glob)), True)
