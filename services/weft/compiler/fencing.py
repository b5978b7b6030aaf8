"""Untrusted text made unable to pass for anything else: a fence it cannot forge around it, and
inside it no label of ours, no role and no chat template that a model would obey."""

from __future__ import annotations

import hashlib
import re

_TEMPLATE = re.compile(
    r"<(?=\||/?s>|<SYS|</SYS|/?(?:start|end)_of_turn|\uff5c)|\[(?=/?INST\]|/?SYSTEM\])|<<(?=/?SYS>>)",
    re.IGNORECASE,
)
"""Openings of the chat templates of ChatML, Llama, Gemma, Mistral and DeepSeek."""

_LABEL = re.compile(
    r"^(\s*)(?=(?:#+\s*|\*\*)?(?:user|human|agent|assistant|system|developer|tool|function|call|"
    r"result|doc|fact|facts|plan|policy|earlier|tools)\b[^\n:]{0,40}:)",
    re.IGNORECASE | re.MULTILINE,
)
"""A line that opens like a section or a turn."""

_DIGITS = 3
"""Digits per step of a fence: three are one token in the encodings that we count with."""


def fence(text: str, item_id: str, key: bytes) -> str:
    """`<482 … 482>`: the number is a keyed hash of the item's id, lengthened until the text does
    not contain it, so no content can close its own fence. The same on every replica and replay."""
    state = digits(item_id, key)
    length = _DIGITS
    while state[:length] in text:
        length += _DIGITS
        if length > len(state):
            state += digits(state, key)
    mark = state[:length]
    return f"<{mark} {neutral(text)} {mark}>"


def digits(name: str, key: bytes) -> str:
    """Seventy-odd decimal digits that nobody without the key can know."""
    raw = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), key=key[:64]).digest()
    return f"{int.from_bytes(raw[:30], 'big'):072d}"


def neutral(text: str) -> str:
    """Text in which template openings are broken and lines that look like labels are quoted."""
    return _LABEL.sub(r"\1> ", _TEMPLATE.sub(lambda found: found.group() + " ", text))


def unlabelled(text: str) -> str:
    """A trusted text whose further lines cannot be taken for the next block."""
    head, newline, rest = text.partition("\n")
    return head + newline + _LABEL.sub(r"\1> ", rest) if rest else text
