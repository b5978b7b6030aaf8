"""From a text to its outline, by the form that it has."""

from __future__ import annotations

from functools import lru_cache

from weft.passages.json_text import split_call, split_json
from weft.passages.part import Outline, leaf_count, outlined
from weft.passages.prose import split_prose
from weft.passages.table import split_table

SHORT = 320
"""Characters up to which a text is one passage: some 80 tokens, about what marks and a second
opening would save."""
REMEMBERED = 64
"""Outlines of the recent items of some sessions."""


@lru_cache(maxsize=REMEMBERED)
def outline_of(text: str, content_type: str = "") -> Outline | None:
    """The outline of a text, None where it is one passage. Linear in `text`.

    `content_type` is the MIME type that the firewall found, empty where nobody looked.
    """
    if len(text) <= SHORT:
        return None
    structured = split_json(text) if text[0] in "{[" else split_call(text)
    if structured is not None:
        return outlined(structured, is_json=True) if leaf_count(structured) > 1 else None
    root = split_table(text, content_type) or split_prose(text)
    return outlined(root) if leaf_count(root) > 1 else None
