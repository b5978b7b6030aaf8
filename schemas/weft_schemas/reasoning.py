"""A model's reasoning in the form in which its provider wants it back with the calls after it.

Some of it is signed or encrypted: nobody else can read it, and it goes back unchanged or not at
all. The rest is text of the model's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

METADATA = "provider_reasoning"
"""The reserved key of a call's metadata for it."""
OPAQUE = frozenset({"signature", "data", "encrypted_content", "thought_signature"})
"""Keys under which the providers put data that only they can read. No other string counts as
such."""
ID = "id"
"""The key of a provider's own ids, which look like credentials but are not."""
SHORT = 40
"""Longest word of the format, in characters: a name, or a value under `type`. A longer one is
text."""
OPAQUE_CHARACTERS = 4
"""One token is counted for so many characters of base64, which are three bytes. Providers need four
bytes or more for a token; a recorded answer had 12 characters for each of its reasoning tokens."""


class Reasoning(msgspec.Struct, frozen=True, omit_defaults=True):
    """The reasoning that goes back with one call of a model."""

    format: str
    """Its provider: `openai`, `openai-responses`, `anthropic` or `gemini`; no other reads it."""
    before: tuple[dict[str, Any], ...] = ()
    """What precedes the calls of its turn: blocks, items, or keys of the message."""
    call: dict[str, Any] = {}
    """Keys of the call itself, such as its signature."""
    withheld: str = ""
    """Why it does not go back; then none of it is here."""


def reasoning_of(metadata: Any) -> Reasoning | None:
    """A call's reasoning from its metadata; None if there is none, or something else."""
    held = metadata.get(METADATA)
    if held is None:
        return None
    try:
        return msgspec.convert(held, Reasoning)
    except msgspec.ValidationError:
        return None


def clear_texts(reasoning: Reasoning) -> Iterator[str]:
    """The part that everybody can read."""
    return (text for name, text in _strings(reasoning) if name not in OPAQUE and name != ID)


def counted_texts(reasoning: Reasoning) -> Iterator[str]:
    """The part that is counted as text."""
    return (text for name, text in _strings(reasoning) if name not in OPAQUE)


def opaque_tokens(reasoning: Reasoning) -> int:
    """The number of tokens that its opaque parts count for."""
    sizes = (len(text) for name, text in _strings(reasoning) if name in OPAQUE)
    return sum(-(-size // OPAQUE_CHARACTERS) for size in sizes)


def _strings(reasoning: Reasoning) -> Iterator[tuple[str, str]]:
    return _held([*reasoning.before, reasoning.call], "")


def _held(held: Any, name: str) -> Iterator[tuple[str, str]]:
    """All strings, each with its key; long keys are among them."""
    if isinstance(held, str):
        if name != "type" or len(held) > SHORT:
            yield name, held
    elif isinstance(held, dict):
        for key, one in held.items():
            if len(key) > SHORT:
                yield "", key
            yield from _held(one, key)
    elif isinstance(held, list | tuple):
        for one in held:
            yield from _held(one, name)
