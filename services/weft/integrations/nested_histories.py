"""Turns the messages in which the OpenAI Agents SDK tells the next agent the earlier history
(`nest_handoff_history`) back into the items that they describe. Independent of the SDK: it can read
them itself, but not as part of its interface."""

from __future__ import annotations

import json
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Any

_PREAMBLES = (
    "For context, here is the conversation so far between the user and the previous agent:",
    "For context, here is the conversation so far:",
)
"""How such a message begins, newest first."""
_NOTHING = "(no previous turns recorded)"
_MESSAGE = re.compile(r"(user|assistant|system|developer)(?: \(([^)\n]*)\))?:(?: (.*))?", re.DOTALL)
"""A message of one line; everything else is told as JSON."""
_TYPED = re.compile(r"(\w+): (\{.*\})", re.DOTALL)
"""How earlier releases of the SDK told calls and outputs."""

Item = dict[str, Any]


def unfolded(items: Sequence[Any], own: Sequence[Any], markers: tuple[str, str]) -> list[Any]:
    """The items with what such messages tell in their place. `own` is the history of the session,
    whose messages count where the SDK has told them without the space around them; `markers` stand
    around what is told. A message that is not of this form stays as it is."""
    said: dict[tuple[Any, str], deque[Any]] = defaultdict(deque)
    for one in own:
        if isinstance(text := one.get("content"), str):
            said[one.get("role"), text.strip()].append(one)
    made: list[Any] = []
    for item in items:
        told = _nested_items(item, markers)
        made += [item] if told is None else [_as_said(one, said) for one in told]
    return made


def _as_said(item: Item, said: dict[tuple[Any, str], deque[Any]]) -> Any:
    text = item.get("content")
    found = said.get((item.get("role"), text.strip())) if isinstance(text, str) else None
    return found.popleft() if found else item


def _nested_items(item: Any, markers: tuple[str, str]) -> list[Item] | None:
    text = item.get("content")
    if item.get("role") != "assistant" or not isinstance(text, str):
        return None
    begin, end = f"\n{markers[0]}\n", f"\n{markers[1]}"
    preamble = next((one for one in _PREAMBLES if text.startswith(one + begin)), None)
    if preamble is None or not text.endswith(end):
        return None
    body = text[len(preamble + begin) : -len(end)]
    if body == _NOTHING:
        return []
    told = [_item(record) for record in _records(body)]
    items = [one for one in told if one is not None]
    return items if len(items) == len(told) else None


def _records(body: str) -> Iterator[str]:
    """The numbered lines, each with the lines up to the next number."""
    record: list[str] = []
    number = 1
    for line in body.split("\n"):
        if line.startswith(f"{number}. "):
            if record:
                yield "\n".join(record)
            record = [line.removeprefix(f"{number}. ")]
            number += 1
        else:
            record.append(line)
    yield "\n".join(record)


def _item(record: str) -> Item | None:
    if (read := _object(record)) is not None:
        return read
    if found := _MESSAGE.fullmatch(record):
        role, name, content = found.groups()
        return {"role": role, **({"name": name} if name else {}), "content": content or ""}
    if (found := _TYPED.fullmatch(record)) and (read := _object(found[2])) is not None:
        return {**read, "type": found[1]}
    return None


def _object(text: str) -> Item | None:
    try:
        read = json.loads(text)
    except ValueError:
        return None
    return read if isinstance(read, dict) else None
