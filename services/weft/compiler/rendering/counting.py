"""Tokens of a prompt and of provider messages. Counts of blocks add up exactly, because blocks are
lines: no token of tiktoken's encodings spans the start of a line that begins with a letter, and
other encodings count by the line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from string import ascii_letters, digits

from weft import tokens
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
_MAX_LABEL_LENGTH = 64
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
        end = text.find("] " if text.startswith("[") else ": ", 0, _MAX_LABEL_LENGTH) + 1
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
