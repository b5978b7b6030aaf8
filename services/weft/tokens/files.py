"""Tokens as a model's own `tokenizer.json` counts them, with Hugging Face's library, no network."""

from __future__ import annotations

from collections.abc import Callable

from weft.model_encodings import file_of
from weft_schemas.errors import ConfigurationError


def file_cost(name: str) -> Callable[[str], int]:
    """A function that counts the tokens of a line. Raises `ConfigurationError`."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise ConfigurationError(
            f"{name}: a tokenizer file needs the package tokenizers; "
            "in weft's checkout: pip install '.[workers,tokenizers]'"
        ) from None
    try:
        path, content = file_of(name)
    except ValueError as error:
        raise ConfigurationError(f"encoding {name}: {error}") from None
    try:
        tokenizer = Tokenizer.from_buffer(content)
    except Exception as error:  # the library raises nothing narrower
        raise ConfigurationError(
            f"{path} is no tokenizer that the package tokenizers reads: {error}"
        ) from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # What looks like a special token is data here, as everywhere.
    tokenizer.encode_special_tokens = True

    def counted(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    before = counted("\n")

    def cost(line: str) -> int:
        # Some tokenizers put a blank before a text: its first word costs less than behind a break.
        return max(1, counted(line), counted(f"\n{line}") - before)

    return cost
