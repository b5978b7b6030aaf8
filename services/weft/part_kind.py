"""What kind of part a message or a tool's result has: many formats name it in a field `type`, and
so do objects that are no parts at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def part_kind(part: Mapping[str, Any]) -> str:
    """The part's `type`; empty if it is missing or not a string. Such a value may be a list or an
    object, which cannot be looked up in a set."""
    kind = part.get("type")
    return kind if isinstance(kind, str) else ""
