"""Texts without halves of characters. Python has them in names of files, in output that is no
UTF-8, and in texts that were cut inside of a character; no event holds them."""

from __future__ import annotations


def whole_characters(text: str) -> str:
    """The text with a replacement character for each half; two halves become their character."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
