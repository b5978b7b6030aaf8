"""Chooses how to split a text by its form, and makes its outline."""

from __future__ import annotations

from weft.passages.asides import split_with_asides
from weft.passages.bibliography import with_bibliography
from weft.passages.json_splitting import split_call, split_json
from weft.passages.literals import Decoded, decoded
from weft.passages.log import PRINTED, split_log
from weft.passages.mcp_wrapper import WRAPPERS
from weft.passages.part import Outline, Part, leaf_count, outlined, passage_texts, shifted
from weft.passages.prose import split_stretch
from weft.passages.sentences import MAX_LEAF_LENGTH
from weft.passages.table import ALIGNED, CSV, TSV, split_table
from weft.passages.test_run import TEST_RUN, split_test_run
from weft.recent_texts import cached

SHORT = 320
"""Most characters of a text that is one passage: about 80 tokens, which is what marks and a second
opening would cost."""
REMEMBERED = 64
"""Cached outlines."""
TYPES = frozenset({ALIGNED, CSV, TSV, TEST_RUN, *PRINTED})
"""Content types that say how a text is split; one with any other is split as its form says."""


@cached(REMEMBERED)
def outline_of(text: str, content_type: str = "") -> Outline | None:
    """The outline of a text, None if it is one passage. Linear in `text`.

    `content_type` is the MIME type that the firewall found, empty if it is not known.
    """
    if len(text) <= SHORT:
        return None
    decoded_text = decoded(text)
    if decoded_text.wrapper and len(decoded_text.text) <= SHORT:
        return None
    root = (
        _structured(decoded_text)
        or split_table(decoded_text.text, content_type)
        or split_test_run(decoded_text.text, content_type)
        or split_log(decoded_text.text, content_type)
        or _prose(decoded_text)
    )
    if leaf_count(root) == 1:
        return None
    wrapper = decoded_text.wrapper
    is_json = decoded_text.form != "text" or _holds_json(decoded_text)
    is_exact = decoded_text.text == text and all(one.is_exact for one in decoded_text.literals)
    return outlined(root, is_json, not is_exact, wrapper)


def is_plain_line(text: str, content_type: str = "") -> bool:
    """Whether a text is one line, no longer than a leaf, without any sign of a form: one passage.
    To find that out takes a twentieth of the time of splitting it."""
    return (
        len(text) < MAX_LEAF_LENGTH
        and not text.startswith(WRAPPERS)
        and not any(sign in text for sign in "{[<\\")
        and text.isprintable()
        and content_type not in TYPES
    )


def readable(text: str, outline: Outline | None) -> str:
    """The text that an outline's positions refer to."""
    return decoded(text).text if outline is not None and outline.has_literals else text


def passages_of(text: str, content_type: str = "") -> tuple[Outline | None, list[str]]:
    """The outline of a text, and the text that is indexed for each of its passages."""
    if len(text) <= SHORT and not text.startswith(WRAPPERS):
        return None, [text]
    if is_plain_line(text, content_type):
        return None, [text]
    outline = outline_of(text, content_type)
    if outline is None:
        decoded_text = decoded(text)
        return None, [decoded_text.text if decoded_text.wrapper else text]
    return outline, passage_texts(readable(text, outline), outline)


def _structured(decoded_text: Decoded) -> Part | None:
    match decoded_text.form:
        case "json":
            return split_json(decoded_text, _content_parts)
        case "call":
            return split_call(decoded_text, _content_parts)
    return None


def _content_parts(decoded_text: Decoded) -> tuple[Part, ...]:
    """The parts of a string's content."""
    structured = _structured(decoded_text)
    return (structured,) if structured is not None else _prose(decoded_text).children


def _prose(decoded_text: Decoded) -> Part:
    """Split a text into lines, and its decoded strings by their content."""
    text = decoded_text.text
    if not decoded_text.literals:
        return with_bibliography(text, split_with_asides(text))
    parts: list[Part] = []
    at = 0
    for literal in decoded_text.literals:
        begin = literal.start - literal.quotes
        if text[at:begin].strip():
            parts += _surrounding_parts(text, at, begin)
            at = begin
        children = tuple(shifted(part, literal.start) for part in _content_parts(literal.held))
        # A text that was cut off ends in its string.
        end = min(literal.end + literal.quotes, len(text))
        opening, closing = literal.start - at, end - literal.end
        parts.append(Part(at, end, "text", 1, opening, closing, False, children))
        at = end
    parts += _surrounding_parts(text, at, len(text))
    return Part(0, len(text), "text", 1, 0, 0, False, tuple(parts))


def _surrounding_parts(text: str, start: int, end: int) -> list[Part]:
    """The parts of what stands before or after a string; within its line, it is a piece of one."""
    parts = split_stretch(text, start, end)
    if len(parts) == 1 and not parts[0].children and "\n" not in text[start:end]:
        return [Part(parts[0].start, parts[0].end, "piece")]
    return parts


def _holds_json(decoded_text: Decoded) -> bool:
    found = (one.held for one in decoded_text.literals if not one.is_exact)
    return any(held.form != "text" or _holds_json(held) for held in found)
