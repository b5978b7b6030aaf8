"""Tokens of a prompt and of provider messages. Counts of blocks add up exactly, because blocks are
lines: no token of tiktoken's encodings spans the start of a line that begins with a letter, and
other encodings count by the line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from string import ascii_letters, digits
from typing import Any

import msgspec

from weft import tokens
from weft.adapters import anthropic, gemini, openai, responses
from weft.adapters.conversation import conversation
from weft.adapters.drafting import compact
from weft.compiler.rendering.prompt import blocks
from weft_schemas.compile import PackEntry
from weft_schemas.reasoning import Reasoning, counted_texts, opaque_tokens

MESSAGE = 3
"""Tokens that a provider counts for a message in addition to its text (OpenAI's cookbook)."""
REMEMBERED = 4096
"""Counts kept per encoding: several prompts' blocks."""

Count = Callable[[str], int]


_APART = frozenset(f"{ascii_letters}{digits}[\u2026")
"""The beginning of a line that can be counted by itself: a letter, a digit, a label or a mark."""
_LONGEST_LABEL = 64
"""Characters. No token spans a label and the blank after it. So the text after it is counted by
itself: it comes again without the label, or after another one."""
_LONG_LINES = 100
"""Characters a line must have for this to save time: such lines are repeated in other messages."""


@cache
def counter(encoding: str) -> Count:
    """Counts text in this encoding and remembers the latest counts, of texts and of their lines."""

    plain = tokens.counter(encoding).count
    if encoding not in tokens.ENCODINGS:
        return lru_cache(maxsize=REMEMBERED)(plain)

    def new(text: str) -> int:
        end = text.find("] " if text.startswith("[") else ": ", 0, _LONGEST_LABEL) + 1
        return plain(text[:end]) + plain(text[end:]) if end else plain(text)

    line = lru_cache(maxsize=REMEMBERED)(new)

    @lru_cache(maxsize=REMEMBERED)
    def count(text: str) -> int:
        breaks = text.count("\n", 0, -1)
        if breaks and breaks * _LONG_LINES < len(text):
            return sum(map(line, _lines(text)))
        return line(text)

    return count


def _lines(text: str) -> list[str]:
    """The lines, each with its break and with those behind it that cannot be counted apart."""
    lines, start = [], 0
    at = text.find("\n") + 1
    while at:
        if text[at : at + 1] in _APART:
            lines.append(text[start:at])
            start = at
        at = text.find("\n", at) + 1
    return [*lines, text[start:]]


def prompt_tokens(entries: Sequence[PackEntry], count: Count) -> int:
    """Tokens of the prompt that these entries make."""
    written = ["\n".join(lines) for lines in blocks(entries)]
    return sum(count(f"{text}\n") for text in written[:-1]) + sum(map(count, written[-1:]))


def reasoning_tokens(reasoning: Reasoning, count: Count) -> int:
    """Tokens that a call's reasoning takes in the messages of its provider, at most: each block may
    be a message of its own, and names of keys are counted."""
    texts = sum(map(count, counted_texts(reasoning)))
    blocks = MESSAGE * (len(reasoning.before) + bool(reasoning.call))
    return texts + blocks + opaque_tokens(reasoning)


def _returned(entries: Iterable[PackEntry], format: str, count: Count) -> int:
    """Tokens of the reasoning in a provider's messages."""
    held = (one.reasoning for one in entries)
    return sum(reasoning_tokens(one, count) for one in held if one and one.format == format)


def message_tokens(entries: Sequence[PackEntry], count: Count) -> dict[str, int]:
    """Tokens of the same entries as messages, per provider, names, arguments and ids included."""
    plain = [
        msgspec.structs.replace(one, reasoning=None) if one.reasoning else one for one in entries
    ]
    talk = conversation(plain)
    said = {
        "openai": _openai(openai.written(talk), count),
        "openai-responses": _responses(responses.written(talk), count),
        "anthropic": _anthropic(anthropic.written(talk), count),
        "gemini": _gemini(gemini.written(talk), count),
    }
    return {name: tokens + _returned(entries, name, count) for name, tokens in said.items()}


def _openai(request: Mapping[str, Any], count: Count) -> int:
    total = 0
    for message in request["messages"]:
        total += MESSAGE + count(message.get("content") or "")
        total += count(message.get("tool_call_id") or "")
        for call in message.get("tool_calls") or ():
            function = call["function"]
            total += count(call["id"]) + count(function["name"]) + count(function["arguments"])
    return total


def _responses(request: Mapping[str, Any], count: Count) -> int:
    """Each call and each output is a separate message."""
    total = count(request.get("instructions") or "")
    for item in request["input"]:
        said = (value for key, value in item.items() if key not in ("type", "role"))
        total += MESSAGE + sum(map(count, said))
    return total


def _anthropic(request: Mapping[str, Any], count: Count) -> int:
    total = count(request.get("system") or "")
    for message in request["messages"]:
        content = message["content"]
        total += MESSAGE
        total += (
            count(content)
            if isinstance(content, str)
            else sum(_block(block, count) for block in content)
        )
    return total


def _block(block: Mapping[str, Any], count: Count) -> int:
    match block["type"]:
        case "tool_use":
            return count(block["id"]) + count(block["name"]) + count(compact(block["input"]))
        case "tool_result":
            failed = count("is_error") if block.get("is_error") else 0
            return count(block["tool_use_id"]) + count(block["content"]) + failed
        case _:
            return count(block["text"])


def _gemini(request: Mapping[str, Any], count: Count) -> int:
    total = count(request["config"].get("system_instruction") or "")
    for content in request["contents"]:
        total += MESSAGE + sum(_part(part, count) for part in content["parts"])
    return total


def _part(part: Mapping[str, Any], count: Count) -> int:
    match part:
        case {"function_call": {"name": name, "args": arguments}}:
            return count(name) + count(compact(arguments))
        case {"function_response": {"name": name, "response": response}}:
            return count(name) + sum(map(count, response.values()))
        case _:
            return count(part["text"])
