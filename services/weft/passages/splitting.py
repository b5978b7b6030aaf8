"""Chooses how to split a text by its form, and makes its outline."""

from __future__ import annotations

from functools import lru_cache

from weft.passages.json_text import split_call, split_json
from weft.passages.literals import Decoded, decoded
from weft.passages.part import Outline, Part, leaf_count, moved, outlined, passage_texts
from weft.passages.prose import split_prose, split_stretch
from weft.passages.table import split_table
from weft.passages.test_run import split_test_run

SHORT = 320
"""Most characters of a text that is one passage: about 80 tokens, which is what marks and a second
opening would cost."""
REMEMBERED = 64
"""Cached outlines."""


@lru_cache(maxsize=REMEMBERED)
def outline_of(text: str, content_type: str = "") -> Outline | None:
    """The outline of a text, None if it is one passage. Linear in `text`.

    `content_type` is the MIME type that the firewall found, empty if it is not known.
    """
    if len(text) <= SHORT:
        return None
    told = decoded(text)
    if told.wrapper and len(told.text) <= SHORT:
        return None
    root = (
        _structured(told)
        or split_table(told.text, content_type)
        or split_test_run(told.text, content_type)
        or _prose(told)
    )
    if leaf_count(root) == 1:
        return None
    is_decoded = bool(told.wrapper) or not all(one.is_exact for one in told.literals)
    return outlined(root, told.form != "text" or _holds_json(told), is_decoded, told.wrapper)


def readable(text: str, outline: Outline | None) -> str:
    """The text that an outline's positions refer to."""
    return decoded(text).text if outline is not None and outline.has_literals else text


def passages_of(text: str, content_type: str = "") -> tuple[Outline | None, list[str]]:
    """The outline of a text, and the text that is indexed for each of its passages."""
    outline = outline_of(text, content_type)
    if outline is None:
        told = decoded(text)
        return None, [told.text if told.wrapper else text]
    return outline, passage_texts(readable(text, outline), outline)


def _structured(told: Decoded) -> Part | None:
    match told.form:
        case "json":
            return split_json(told, _held)
        case "call":
            return split_call(told, _held)
    return None


def _held(told: Decoded) -> tuple[Part, ...]:
    """The parts of a string's content."""
    structured = _structured(told)
    return (structured,) if structured is not None else _prose(told).children


def _prose(told: Decoded) -> Part:
    """Split a text into lines, and its decoded strings by their content."""
    if not told.literals:
        return split_prose(told.text)
    parts: list[Part] = []
    at = 0
    for literal in told.literals:
        begin = literal.start - literal.quotes
        if told.text[at:begin].strip():
            parts += _around(told.text, at, begin)
            at = begin
        children = tuple(moved(part, literal.start) for part in _held(literal.held))
        end = min(
            literal.end + literal.quotes, len(told.text)
        )  # a text that was cut off ends in its string
        opening, closing = literal.start - at, end - literal.end
        parts.append(Part(at, end, "text", 1, opening, closing, False, children))
        at = end
    parts += _around(told.text, at, len(told.text))
    return Part(0, len(told.text), "text", 1, 0, 0, False, tuple(parts))


def _around(text: str, start: int, end: int) -> list[Part]:
    """The parts of what stands before or after a string; within its line, it is a piece of one."""
    parts = split_stretch(text, start, end)
    if len(parts) == 1 and not parts[0].children and "\n" not in text[start:end]:
        return [Part(parts[0].start, parts[0].end, "piece")]
    return parts


def _holds_json(told: Decoded) -> bool:
    found = (one.held for one in told.literals if not one.is_exact)
    return any(held.form != "text" or _holds_json(held) for held in found)
