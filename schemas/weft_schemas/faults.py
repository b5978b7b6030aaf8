"""Why a payload could not be read, in words that contain nothing of the payload: they appear in
logs, dead letters and read models, where an erasure of the event would not find its values."""

from __future__ import annotations

import re

_PATH = re.compile(r" - at `([$\w.\[\]]+)`\Z")
_UNKNOWN = "Object contains unknown field"


def fault_of(error: Exception) -> str:
    """The decoder's message up to the first value that it quotes, and the path of the field."""
    text = str(error)
    path = _PATH.search(text)
    said = text[: path.start()] if path else text
    if said.startswith(_UNKNOWN):
        said = _UNKNOWN
    # Values are in single quotes, types and required fields in backticks.
    said = said.partition("'")[0].rstrip(" :") or type(error).__name__
    return f"{said} at `{path.group(1)}`" if path else said
