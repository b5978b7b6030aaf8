"""Counting tokens without network: tiktoken over ranks that an installed package carries.

Counts are a pure function of the text and the encoding's name. Text that would make the tokenizer
slow (one letter a million times) is counted in pieces, so that time stays linear in length.
"""

from __future__ import annotations

from weft.tokens.encodings import DEFAULT_ENCODING, ENCODINGS, encoding
from weft.tokens.texts import counter

__all__ = [
    "DEFAULT_ENCODING",
    "ENCODINGS",
    "count",
    "counter",
    "encoding",
    "truncate",
]


def count(text: str, name: str = DEFAULT_ENCODING) -> int:
    """Tokens of `text`; text that looks like a special token is counted as plain text."""
    return counter(name).count(text)


def truncate(text: str, limit: int, name: str = DEFAULT_ENCODING) -> str:
    """The longest prefix of at most `limit` tokens that ends at a whole character."""
    if limit <= 0:
        return ""
    encoder = encoding(name)
    # No token of either encoding is longer than 128 bytes, so more text than this cannot matter.
    head = text[: limit * 128]
    tokens = encoder.encode_ordinary(head)
    if len(tokens) <= limit and len(head) == len(text):
        return text
    end = limit
    while end > 0:
        prefix = encoder.decode_bytes(tokens[:end]).decode("utf-8", "ignore")
        if count(prefix, name) <= limit:
            return prefix
        end -= 1
    return ""
