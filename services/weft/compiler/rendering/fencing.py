"""Text that must not pass for anything else in a prompt: a fence around it that it cannot forge.
Its own bytes stay as they are, but for chat templates that a model would obey."""

from __future__ import annotations

import hashlib
import re

_TEMPLATE = re.compile(
    r"<(?=\||/?s>|<SYS|</SYS|/?(?:start|end)_of_turn|\uff5c)|\[(?=/?INST\]|/?SYSTEM\])|<<(?=/?SYS>>)",
    re.IGNORECASE,
)
"""Openings of the chat templates of ChatML, Llama, Gemma, Mistral and DeepSeek."""

_LABEL = re.compile(
    r"(?:^|[\n\r\u0085\u2028\u2029])[ \t]{0,40}(?:#{1,6}[ \t]*|\*\*)?"
    r"(?:user|human|agent|assistant|system|developer|tool|function|call|"
    r"result|doc|fact|facts|plan|policy|earlier|remembered|tools|memory|notation)\b[^\n:]{0,40}:",
    re.IGNORECASE,
)
"""A line that opens like a section or a turn."""

_DIGITS = 3
"""Digits per step of a fence: three are one token in the encodings that we count with."""


def fence(text: str, item_id: str, key: bytes) -> str:
    """`<data:482>…</data:482>`: the number is a keyed hash of the item's id, lengthened until the
    text does not contain it, so no content can close its own fence. The same on every replica and
    replay."""
    state = digits(item_id, key)
    length = _DIGITS
    while f":{state[:length]}>" in text:
        length += _DIGITS
        if length > len(state):
            state += digits(state, key)
    mark = state[:length]
    gap = "\n" if "\n" in text else ""
    return f"<data:{mark}>{gap}{text}{gap}</data:{mark}>"


def digits(name: str, key: bytes) -> str:
    """Seventy-odd decimal digits that nobody without the key can know."""
    raw = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), key=key[:64]).digest()
    return f"{int.from_bytes(raw[:30], 'big'):072d}"


def unbroken(text: str) -> str:
    """Untrusted text in which the openings of chat templates are broken."""
    return _TEMPLATE.sub(lambda found: found.group() + " ", text)


def looks_like_labels(text: str) -> bool:
    """Whether a line of a text, but its first, could be taken for the next block."""
    _, newline, rest = text.partition("\n")
    return bool(newline) and _LABEL.search(rest) is not None
