"""A model's reasoning, as its provider wants it back beside the calls that it led to.

Some of it is signed or encrypted: nobody else can read it, and it goes back as it came or not at
all. The rest is text of the model's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

METADATA = "provider_reasoning"
"""The reserved key of a call's metadata that holds it."""
OPAQUE = frozenset({"signature", "data", "encrypted_content", "thought_signature"})
"""Names under which the providers put what they alone read. No other string is taken for such."""
ID = "id"
"""The name of a provider's own ids, which look like keys and are none."""
SHORT = 40
"""Characters of a word of the form: a name, or what stands under `type`. A longer one is text."""
OPAQUE_CHARACTERS = 4
"""Of these, in base64, for each token that is counted: three bytes. What they stand for takes a
provider about four bytes a token and more; a recorded answer had 12 characters for each of its
reasoning tokens."""


class Reasoning(msgspec.Struct, frozen=True, omit_defaults=True):
    """What goes back with one call of a model."""

    format: str
    """Whose it is: `openai`, `openai-responses`, `anthropic` or `gemini`; no other reads it."""
    before: tuple[dict[str, Any], ...] = ()
    """What stands before the calls of its turn: blocks, items, or keys of the message."""
    call: dict[str, Any] = {}
    """Keys of the call itself, such as its signature."""
    withheld: str = ""
    """Why it does not go back; then nothing of it is here."""


def reasoning_of(metadata: Any) -> Reasoning | None:
    """That of a call, by its metadata; None where there is none, or something else."""
    held = metadata.get(METADATA)
    if held is None:
        return None
    try:
        return msgspec.convert(held, Reasoning)
    except msgspec.ValidationError:
        return None


def clear_texts(reasoning: Reasoning) -> Iterator[str]:
    """What in it everybody can read."""
    return (text for name, text in _strings(reasoning) if name not in OPAQUE and name != ID)


def counted_texts(reasoning: Reasoning) -> Iterator[str]:
    """What of it is counted as text."""
    return (text for name, text in _strings(reasoning) if name not in OPAQUE)


def opaque_tokens(reasoning: Reasoning) -> int:
    """Tokens that its opaque parts count for."""
    sizes = (len(text) for name, text in _strings(reasoning) if name in OPAQUE)
    return sum(-(-size // OPAQUE_CHARACTERS) for size in sizes)


def _strings(reasoning: Reasoning) -> Iterator[tuple[str, str]]:
    return _held([*reasoning.before, reasoning.call], "")


def _held(held: Any, name: str) -> Iterator[tuple[str, str]]:
    """All strings, each with the name that it stands under; long names are such, too."""
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
