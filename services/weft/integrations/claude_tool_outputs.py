"""The outputs of Claude Code's tools: where in their structure the texts are that the model reads,
and the same structure with another text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

SAYS = frozenset(
    {"text", "stdout", "stderr", "content", "output", "result", "results", "filenames"}
)
"""The keys under which an output contains what the tool said; paths, counts and types are beside
them."""
SHORT = 40
"""In characters. A shorter string under such a key is a word of the format, such as a type."""
ECHOES = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
"""Tools whose output contains the file that was changed; the model reads one line about it."""
MCP = "mcp__"
"""Prefix of the names of tools of MCP servers."""

Place = tuple[str | int, ...]
"""Keys and positions, from the outside in."""


def text_places(tool_name: str, output: Any) -> list[Place]:
    """Where in an output the texts are that the model reads and that are not its own. An object of
    an MCP server may have them anywhere, and is taken as a whole."""
    if tool_name in ECHOES:
        return []
    if isinstance(output, str) or (tool_name.startswith(MCP) and isinstance(output, dict)):
        return [()]
    return [place for place, text in _strings(output, ()) if _is_said(place, text)]


def text_at(held: Any, place: Place) -> str:
    for step in place:
        held = held[step]
    return held if isinstance(held, str) else as_json(held)


def replaced(output: Any, places: Sequence[Place], text: str) -> Any:
    """The same structure with this text in place of the longest one, and nothing in the other
    places: their content is in the text."""
    if places == [()]:
        return text if isinstance(output, str) else [{"type": "text", "text": text}]
    longest = max(places, key=lambda place: len(text_at(output, place)))
    for place in places:
        output = _put(output, place, text if place == longest else "")
    return output


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _is_said(place: Place, text: str) -> bool:
    names = [step for step in place if isinstance(step, str)]
    if not text or not names:
        return bool(text)
    return names[-1] in SAYS or (len(text) >= SHORT and not SAYS.isdisjoint(names))


def _strings(held: Any, place: Place) -> Iterator[tuple[Place, str]]:
    if isinstance(held, str):
        yield place, held
    elif isinstance(held, dict):
        for key, one in held.items():
            yield from _strings(one, (*place, key))
    elif isinstance(held, list):
        for at, one in enumerate(held):
            yield from _strings(one, (*place, at))


def _put(held: Any, place: Place, text: str) -> Any:
    if not place:
        return text
    first, *rest = place
    if isinstance(held, list):
        return [_put(one, tuple(rest), text) if at == first else one for at, one in enumerate(held)]
    return {key: _put(one, tuple(rest), text) if key == first else one for key, one in held.items()}
