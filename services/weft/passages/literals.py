"""Decodes long quoted strings inside a text: JSON within JSON, a program's output in a field, the
`repr` of an object; and finds JSON below other lines, as below the headers of a response.

Escaped line breaks and quotes become real ones, and JSON inside a string is split like any other
JSON. A text that was cut off is read as far as it goes: its last string ends where the text ends.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice

import msgspec

from weft.passages.json_repair import MAX_CHARS, repaired
from weft.passages.mcp_wrapper import unwrapped
from weft.passages.python_repr import looks_like_repr, with_json_strings, with_json_words
from weft.passages.sentences import MAX_LEAF_LENGTH
from weft.recent_texts import cached

MIN_LENGTH, MIN_JSON_LENGTH = 160, 40
"""Least characters of a string that is decoded; in a shorter one, escapes cost little."""
MIN_BREAKS = 2
"""Least line breaks of a string that counts as a text."""
DEEPEST = 4
"""Most levels of strings within strings that are decoded."""
REMEMBERED = 64
"""Cached decoded texts."""

_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)(?:"(\s*:)?|\\?\Z)')
_QUOTED = re.compile(
    r"(?<![\w\\])(?:'([^'\\\n]*(?:\\.[^'\\\n]*)*)(?:'(?!\w)|\\?\Z)"
    r"|\"([^\"\\\n]*(?:\\.[^\"\\\n]*)*)(?:\"(?!\w)|\\?\Z))"
)
"""A string on one line, as most languages write it. An apostrophe inside a word starts none. The
last string of a text may lack its end."""
_ESCAPE = re.compile(
    r"\\(?:(r\\n)|u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))|(.))"
)
_PLAIN = {"n": "\n", "t": "\t", '"': '"', "'": "'", "\\": "\\", "/": "/"}


class Literal(msgspec.Struct, frozen=True):
    """A decoded string: its position in the decoded text, without its quotes."""

    start: int
    end: int
    held: Decoded
    quotes: int = 1
    """Characters before and after it that quote it; 0 for JSON that is not in a string."""
    is_exact: bool = False
    """It is shown with all its quotes: a line of a text holds it, which may be a program."""


class Decoded(msgspec.Struct, frozen=True):
    """A text whose long strings are decoded."""

    text: str
    form: str = "text"
    """`json`, `call` for `name({…})`, or `text`."""
    literals: tuple[Literal, ...] = ()
    """In order, without overlap. Strings inside a string are in its `held`."""
    is_cut: bool = False
    """It is JSON that was cut off, so its last values have no end."""
    wrapper: str = ""
    """The mark of the wrapper that was around it, empty for none."""


@cached(REMEMBERED)
def decoded(text: str) -> Decoded:
    """The text that is split into parts and shown. Linear in `text`."""
    inner = unwrapped(text, _unescaped)
    if inner is None:
        return _decoded(text, 0)
    return msgspec.structs.replace(_decoded(inner.text, 0), wrapper=inner.mark)


def _decoded(text: str, depth: int) -> Decoded:
    form, is_cut = _form(text)
    if form == "text" and (printed := _printed(text)):
        text, form = printed, "json"
    if depth >= DEEPEST or ("\\" not in text and form != "text"):
        return Decoded(text, form, (), is_cut)
    if form == "text" and (begin := _json_below(text)):
        held = _decoded(text[begin:], depth + 1)
        below = Literal(begin, begin + len(held.text), held, 0)
        return Decoded(text[:begin] + held.text, literals=(below,))
    if form == "text" and not _may_be_wrapped(text):
        # a program's own strings stay as they are written
        return Decoded(text, literals=tuple(_json_in_lines(text)))
    found = list(_strings(text, form))
    if form == "text" and 2 * sum(end - start for start, end in found) < len(text):
        # most of the text is not in its strings
        return Decoded(text, literals=tuple(_json_in_lines(text)))
    pieces: list[str] = []
    literals: list[Literal] = []
    at = size = 0
    for start, end in found:
        held = _decoded(_unescaped(text[start:end]), depth + 1)
        pieces += (text[at:start], held.text)
        size += start - at
        literals.append(Literal(size, size + len(held.text), held))
        size += len(held.text)
        at = end
    pieces.append(text[at:])
    return Decoded("".join(pieces), form, tuple(literals), is_cut)


_STARTS = tuple(f"{quote}{bracket}" for quote in "'\"" for bracket in "{[")


def _may_be_wrapped(text: str) -> bool:
    """Whether to look for strings: few of the text's line breaks are real, and it has escaped ones
    or the beginning of JSON in a string."""
    written = text.count("\\n")
    if written < 4 * text.count("\n"):
        return False
    return written >= MIN_BREAKS or any(start in text for start in _STARTS)


def _form(text: str) -> tuple[str, bool]:
    """The form of a text, and whether it is JSON that was cut off."""
    if is_json(text):
        return "json", False
    start = text.find("({") + 1
    if start and text.endswith("})") and is_json(text[start:-1]):
        return "call", False
    is_cut = _is_cut_json(text)
    return ("json" if is_cut else "text"), is_cut


def _printed(text: str) -> str:
    """A list or dict of Python as JSON, with the same values; empty for other texts."""
    if text[:1] not in ("{", "[") or text.rstrip()[-1:] not in ("}", "]"):
        return ""
    if not looks_like_repr(text):
        return ""
    made = with_json_strings(text)
    return made if is_json(with_json_words(made)) else ""


_BELOW = re.compile(r"\n(?=[{\[])")
TRIES = 4
"""Lines of a text that are tried as the beginning of JSON."""


def _json_below(text: str) -> int:
    """Where the JSON begins with which a text ends; 0 without any."""
    if text.rstrip()[-1:] not in ("}", "]"):
        return 0
    for found in islice(_BELOW.finditer(text), TRIES):
        if len(text) - found.end() >= MIN_LENGTH and is_json(text[found.end() :]):
            return found.end()
    return 0


_MAY_BEGIN = re.compile(r"[{\[](?<![^\s:=(].)(?=\s*[\"\[{\d-])")
"""The bracket comes before what must precede it, so that most of a text is passed over fast."""


def _json_in_lines(text: str) -> Iterator[Literal]:
    """JSON in long lines, which would otherwise be cut at blanks."""
    for at, end in _long_lines(text):
        for _ in range(TRIES):
            found = _MAY_BEGIN.search(text, at, end)
            if found is None:
                break
            held = text[found.start() : end]
            value = repaired(held)
            at = found.end()
            if (
                value
                and len(value) > MAX_LEAF_LENGTH
                and held.startswith(value)
                and _is_valid(value)
            ):
                at = found.start() + len(value)
                yield Literal(found.start(), at, Decoded(value, "json"), 0, True)


def _long_lines(text: str) -> Iterator[tuple[int, int]]:
    """Positions of the lines with at least `MAX_LEAF_LENGTH` characters."""
    at = 0
    for line in text.split("\n"):
        end = at + len(line)
        if len(line) >= MAX_LEAF_LENGTH:
            yield at, end
        at = end + 1


def is_json(text: str) -> bool:
    """Whether a text is one whole JSON object or array."""
    if text[:1] not in ("{", "[") or text.rstrip()[-1:] not in ("}", "]"):
        return False
    return _is_valid(text)


def _is_cut_json(text: str) -> bool:
    """Whether a text is the beginning of a JSON object or array that was cut off."""
    if text[:1] not in ("{", "[") or not MIN_LENGTH <= len(text) <= MAX_CHARS:
        return False
    completed = repaired(text)
    # If the value ends within the text, it was not cut off: something else follows it.
    return completed is not None and not text.startswith(completed) and _is_valid(completed)


def _is_valid(text: str) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return False
    return True


def _strings(text: str, form: str) -> Iterator[tuple[int, int]]:
    """Positions of the strings to decode, without their quotes."""
    begin = text.find("({") if form == "call" else 0
    for found in (_QUOTED if form == "text" else _STRING).finditer(text, begin):
        is_key = form != "text" and found[2]
        group = 2 if form == "text" and found[1] is None else 1
        if not is_key and _holds_text(found[group]):
            yield found.span(group)


def _holds_text(string: str) -> bool:
    """Whether a string's content is JSON or has several lines."""
    if len(string) >= MIN_JSON_LENGTH and string[0] in "{[" and '"' in string:
        return True
    return len(string) >= MIN_LENGTH and string.count("\\n") >= MIN_BREAKS


def _unescaped(string: str) -> str:
    """Decode the escapes that cannot hide or end anything: line breaks, tabs, quotes, backslashes,
    and visible characters beyond ASCII. Other escapes stay as written."""
    return _ESCAPE.sub(_read, string)


def _read(found: re.Match[str]) -> str:
    if found[1]:
        return "\n"
    if found[2]:  # a character beyond U+FFFF, in two halves
        return _visible((int(found[2], 16) - 0xD7C0 << 10) + int(found[3], 16) - 0xDC00, found[0])
    if found[4] or found[5]:
        return _visible(int(found[4] or found[5], 16), found[0])
    return _PLAIN.get(found[6], found[0])


def _visible(code: int, written: str) -> str:
    """The character, if it is visible; else as it is written."""
    if 0x20 < code < 0x7F:  # Go writes `<`, `>` and `&` so
        return chr(code)
    if code >= 0xA0:
        char = chr(code)
        kind = unicodedata.category(char)
        return char if kind[0] in "LMNPS" or kind == "Zs" else written
    return written
