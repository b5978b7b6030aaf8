"""Replaces lone surrogates, which are halves of characters. Python's texts have them in names of
files, in output that is not UTF-8, and where a text was cut inside a character. No event may
contain them."""

from __future__ import annotations


def whole_characters(text: str) -> str:
    """The text with a replacement character for each half; two halves become their character."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
