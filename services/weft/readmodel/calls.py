"""A tool call as text: its name and every argument, however its publisher wrote it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def call_text(text: str, metadata: Mapping[str, Any]) -> str:
    """`name({…})` with the arguments as compact JSON, and below it what else the item says."""
    name, arguments = metadata.get("tool_name"), metadata.get("arguments")
    if not isinstance(name, str) or not name:
        return text
    if not isinstance(arguments, dict):
        return text if name in text else f"{name}({text})"
    written = f"{name}({json.dumps(arguments, ensure_ascii=False, separators=(',', ':'))})"
    return written if text.strip() in written else f"{written}\n{text}"
