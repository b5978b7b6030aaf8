"""Counts tokens without a network: as tiktoken does, from ranks that an installed package contains;
with a tokenizer file; or by an estimate that is never too low.

A count is a pure function of the text and the encoding's name. Text that would make the tokenizer
slow (one letter a million times) is counted in pieces, so that the time stays linear in the length.
"""

from __future__ import annotations

from functools import cache

from weft.model_encodings import DEFAULT_ENCODING, ENCODINGS, ESTIMATES, is_file
from weft.tokens.encodings import encoding
from weft.tokens.estimates import Estimate
from weft.tokens.files import file_cost
from weft.tokens.lines import LineCounter
from weft.tokens.texts import Counter

__all__ = [
    "DEFAULT_ENCODING",
    "ENCODINGS",
    "ESTIMATES",
    "count",
    "counter",
    "encoding",
    "truncate",
]


@cache
def counter(name: str) -> Counter | LineCounter:
    """The counter of an encoding, with its caches. Raises `ConfigurationError`."""
    if name in ESTIMATES:
        counted = counter(DEFAULT_ENCODING)
        assert isinstance(counted, Counter)
        return LineCounter(Estimate(name, counted))
    return LineCounter(file_cost(name)) if is_file(name) else Counter(name)


def count(text: str, name: str = DEFAULT_ENCODING) -> int:
    """Tokens of `text`; text that looks like a special token is counted as plain text."""
    return counter(name).count(text)


def truncate(text: str, limit: int, name: str = DEFAULT_ENCODING) -> str:
    """The longest prefix of at most `limit` tokens that ends at a whole character."""
    if limit <= 0:
        return ""
    counted = counter(name)
    if isinstance(counted, LineCounter):
        return counted.truncated(text, limit)
    encoder = encoding(name)
    # No token of either encoding is longer than 128 bytes, so more text than this makes no
    # difference.
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
