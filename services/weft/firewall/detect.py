"""Detects the form of a body from its content. The type that the tool declares only decides
ties."""

from __future__ import annotations

import re
from itertools import islice

import msgspec

from weft.firewall.form import Form
from weft.firewall.text_forms import text_form
from weft.firewall.verbatim_json import decoded
from weft.passages.json_repair import MAX_CHARS, repaired
from weft.passages.python_repr import looks_like_repr, repr_to_json

_LINE_OF_JSON = re.compile(r"(?<=\n)[ \t]{0,8}[{\[][\s\"{\[]")
_BETWEEN = re.compile(r"(?<=\})[ \t\r]*+\n\s*+(?=\{)")
"""What stands between objects that are printed one after another, on lines of their own. Within a
JSON value there is a comma."""
_PREFACE = 2_000
"""How many characters of other text may precede a JSON text."""
_INSIDE = frozenset(' \n\r\t"{[-0123456789tfn')
"""Characters that may follow the first bracket of a JSON text."""
SAMPLE = 16_000
"""How many characters are examined; enough to recognise every form."""
_MIN_RECORDS = 4
"""Fewer records than these are kept: of a few, a part of the last one says much."""
_BEFORE_GAP = 0.625
"""The share of a text with a gap that is certainly before the gap: three quarters of its bytes are,
see `body.window`."""


class Detected(msgspec.Struct, frozen=True):
    form: Form
    value: object = None
    """The decoded value of a JSON text."""
    read: int | None = None
    """If the JSON text was cut off and repaired: how many characters were read."""
    preface: str = ""
    """Text before the JSON."""
    after: str = ""
    """Text after it."""

    @property
    def complete(self) -> bool:
        """Whether the JSON text had an end."""
        return self.read is None


def detect(text: str, hint: str | None = None, whole: bool = True) -> Detected:
    """The form of `text`. `hint` is the MIME type that the tool declared, if any. Without `whole`
    there is a gap in the text: only the beginning is read as JSON, since a value around the gap
    would be made of two. Linear in the length of `text`."""
    start = text[:SAMPLE]
    stripped = text.strip()
    if not stripped:
        return Detected(Form.PROSE)
    if stripped[0] in "{[" or stripped[0] == '"':
        as_json = _json(stripped, whole)
        if as_json is not None:
            return as_json
    if looks_like_repr(stripped):
        as_json = _json(repr_to_json(stripped), whole)
        if as_json is not None and as_json.form is Form.JSON:
            return as_json
    return _after_preface(stripped, whole) or Detected(text_form(start, hint))


def _after_preface(text: str, whole: bool) -> Detected | None:
    """JSON after one or two lines of words."""
    for match in islice(_LINE_OF_JSON.finditer(text, 0, _PREFACE), 3):
        found = _json(text[match.start() :].rstrip(), whole)
        if found is not None and found.form is Form.JSON:
            preface = text[: match.start()].strip()
            until = None if found.read is None else match.start() + found.read
            return Detected(Form.JSON, found.value, until, preface, found.after)
    return None


def _decoded(text: str) -> object:
    try:
        return decoded(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


def _json(text: str, whole: bool) -> Detected | None:
    value = _decoded(text) if whole else None
    if isinstance(value, dict | list):
        return Detected(Form.JSON, value)
    if text[0] == '"':
        return None
    if text[0] == "{" and "\n" in text:
        first = text[: text.find("\n")]
        if isinstance(_decoded(first), dict):
            lines = [_decoded(line) for line in text.splitlines() if line.strip()]
            if (rows := _records(lines)) is not None:
                return Detected(Form.NDJSON, rows)
        elif (rows := _records([_decoded(one) for one in _BETWEEN.split(text)])) is not None:
            return Detected(Form.NDJSON, rows)
    return _beginning(text, MAX_CHARS if whole else int(len(text) * _BEFORE_GAP))


def _records(values: list[object]) -> list[object] | None:
    """The records among `values`, if nearly all are some."""
    rows: list[object] = [row for row in values if isinstance(row, dict | list)]
    return rows if len(rows) >= 2 and len(rows) * 10 >= len(values) * 9 else None


def _beginning(text: str, most: int) -> Detected | None:
    """A JSON text that was cut off, or that other words follow, fewer than itself."""
    completed = repaired(text, most) if len(text) > 1 and text[1] in _INSIDE else None
    if completed is None:
        return None
    after = text[len(completed) :] if text.startswith(completed) else ""
    value = _decoded(completed) if len(after) <= len(completed) else None
    if not isinstance(value, dict | list) or not value:
        return None
    if after:
        return Detected(Form.JSON, value, after=after.strip())
    _drop_cut_record(value)
    return Detected(Form.JSON, value, read=min(len(text), most))


def _drop_cut_record(value: dict[str, object] | list[object]) -> None:
    """Remove the last record of the outermost list of some: it is not known to be whole, and would
    seem to have no value where the text was cut."""
    held: object = value
    while isinstance(held, dict | list) and held:
        last = held[-1] if isinstance(held, list) else next(reversed(held.values()))
        if isinstance(held, list) and len(held) >= _MIN_RECORDS and isinstance(last, dict | list):
            del held[-1]
            return
        held = last
