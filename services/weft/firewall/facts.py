"""Single statements of a body, as name and value with the item they came from: what memory and the
next call's arguments can take without reading the text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from weft.firewall.detect import Detected, Form
from weft.firewall.leaves import Leaf, leaves, written
from weft.firewall.summarise.code import numbered_lines, outline
from weft.firewall.tables import read_table
from weft_schemas.envelope import ExtractedFact

_NAME = 120
"""Characters of a fact's name."""
_VALUE = 200
"""Characters of a fact's value; what is longer is text, not a value."""

_PAIR = re.compile(
    r"^[\s>*+-]{0,8}(?:\*\*)?([A-Za-z_][\w./-]{0,40}(?: [\w./-]{1,30}){0,2})(?:\*\*)?[ \t]{0,4}"
    r"(?::|=|=>)(?:\*\*)?[ \t]+([^\s{\[|][^\n]{0,160})$",
    re.MULTILINE,
)
_ENTITIES = (
    ("url", re.compile(r"\bhttps?://[^\s<>\"'`)\]}|\\]{4,180}")),
    ("path", re.compile(r"(?<![\w/.:])(?:~|\.{1,2})?/(?:[\w.@+-]{1,80}/){1,20}[\w.@+-]{1,80}")),
    ("date", re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?\b")),
    (
        "id",
        re.compile(
            r"(?<![\w./-])(?:(?=[\w-]{0,40}\d)[A-Za-z][A-Za-z0-9]{0,30}(?:[_-][A-Za-z0-9]{1,30}){1,6}"
            r"|[A-Z]{2,6}\d{2,12}|#\d{1,8})(?![\w/-])"
        ),
    ),
    (
        "amount",
        re.compile(
            r"(?:[$€£]|USD |EUR |GBP )\d[\d,]{0,20}(?:\.\d{1,6})?"
            r"|\b\d{1,12}(?:\.\d{1,6})? ?(?:%|ms|GB|MB|KB|EUR|USD)\b"
        ),
    ),
)
_ROWS = 200
"""Rows of a table that are looked at."""
_TEXT = 100_000
"""Characters of a text that are searched; what stands later is in the views."""


def facts_of(text: str, detected: Detected, source: str, limit: int) -> list[ExtractedFact]:
    """At most `limit` facts of a body, `source` being its item's id; each value once."""
    if detected.value is not None:
        return facts_of_value(detected.value, source, limit)
    if detected.form in (Form.CSV, Form.TSV, Form.TABLE):
        table = read_table(text, detected.form, _ROWS)
        rows = [dict(zip(table.header, row, strict=False)) for row in table.rows]
        return facts_of_value(rows, source, limit)
    if detected.form is Form.CODE:
        return facts_of_code(text, source, limit)
    return facts_of_text(text, source, limit)


def facts_of_value(root: object, source: str, limit: int) -> list[ExtractedFact]:
    """The worthiest leaves of a JSON value, named by their paths."""
    ranked = sorted(leaves(root), key=lambda leaf: -leaf.worth)
    return _distinct(((written(leaf.path), _text(leaf)) for leaf in ranked), source, limit)


def facts_of_text(text: str, source: str, limit: int) -> list[ExtractedFact]:
    """`key: value` lines and named entities of a log or of prose."""
    start = text[:_TEXT]
    pairs = ((m.group(1), _unquoted(m.group(2))) for m in _PAIR.finditer(start))
    found = _distinct(pairs, source, limit // 2)
    seen = {fact.value for fact in found}
    entities = (
        (name, match.group().rstrip(".,;:"))
        for name, pattern in _ENTITIES
        for match in pattern.finditer(start)
    )
    rest = _distinct((e for e in entities if e[1] not in seen), source, limit - len(found))
    return found + rest


def facts_of_code(text: str, source: str, limit: int) -> list[ExtractedFact]:
    """Definitions with the lines they span."""
    found = outline(numbered_lines(text[:_TEXT].splitlines()))
    spans = ((item.name, f"{item.first}-{item.last}") for item in found)
    return _distinct(spans, source, limit)


def _unquoted(value: str) -> str:
    """A value without the quotes around it; empty where they do not close, and for prose."""
    value = value.strip().rstrip(",")
    if value[:1] in ("'", '"'):
        return value[1:-1].strip() if len(value) > 1 and value[-1] == value[0] else ""
    return value if value.count(" ") <= 8 else ""


def _text(leaf: Leaf) -> str:
    value = leaf.value
    if value is None or isinstance(value, bool):
        return ""
    return value if isinstance(value, str) else str(value)


def _distinct(pairs: Iterable[tuple[str, str]], source: str, limit: int) -> list[ExtractedFact]:
    found: dict[str, ExtractedFact] = {}
    for name, value in pairs:
        if len(found) >= limit:
            break
        if value and len(value) <= _VALUE and value not in found:
            found[value] = ExtractedFact(name[:_NAME] or "value", value, source)
    return list(found.values())
