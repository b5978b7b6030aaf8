"""A tool call as text: its name and all arguments, in whatever form it was published."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def call_text(text: str, metadata: Mapping[str, Any]) -> str:
    """`name({…})` with the arguments as compact JSON, followed by the item's other text."""
    name, arguments = metadata.get("tool_name"), metadata.get("arguments")
    if not isinstance(name, str) or not name:
        return text
    if not isinstance(arguments, dict):
        return text if name in text else f"{name}({text})"
    if _parsed_arguments(text, name) == arguments:
        return text
    written = f"{name}({json.dumps(arguments, ensure_ascii=False, separators=(',', ':'))})"
    return written if text.strip() in written else f"{written}\n{text}"


def call_arguments(text: str, metadata: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments in the agent's order, None if they are not an object. Events sort the keys of
    objects; the text keeps the agent's order."""
    name, arguments = metadata.get("tool_name"), metadata.get("arguments")
    if not isinstance(arguments, dict):
        return None
    written = _parsed_arguments(text, name) if isinstance(name, str) else None
    return written if written == arguments else arguments


def tells_all(metadata: Mapping[str, Any], size: int) -> bool:
    """Whether a call's text of `size` bytes, which is not at hand, is its name with its arguments,
    in whatever order: then a prompt shows all of it."""
    name, arguments = metadata.get("tool_name"), metadata.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return False
    frame = len(f"{name}()".encode())
    return size in (frame + len(_json(arguments, one).encode()) for one in _SEPARATORS)


_SEPARATORS = ((",", ":"), (", ", ": "))


def _json(value: object, separators: tuple[str, str]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=separators)


def _parsed_arguments(text: str, name: str) -> dict[str, Any] | None:
    """The arguments of a text that is `name({…})`."""
    if not text.startswith(f"{name}({{") or not text.endswith("})"):
        return None
    try:
        found = json.loads(text[len(name) + 1 : -1])
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
