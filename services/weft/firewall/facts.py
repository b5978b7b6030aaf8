"""Single statements of a body, as name and value with the item they came from: what memory and the
next call's arguments can take without reading the text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from weft.firewall.leaves import Leaf, leaves, written
from weft_schemas.envelope import ExtractedFact

_NAME = 120
"""Characters of a fact's name."""
_VALUE = 200
"""Characters of a fact's value; what is longer is text, not a value."""

_PAIR = re.compile(
    r"^[\s>*+-]{0,8}(?:\*\*)?([A-Za-z_][\w ./-]{0,48}?)(?:\*\*)?\s{0,4}(?::|=|=>)(?:\*\*)?[ \t]+"
    r"([^\s{\[|][^\n]{0,200}?)\s*,?$",
    re.MULTILINE,
)
_ENTITIES = (
    ("url", re.compile(r"\bhttps?://[^\s<>\"'`)\]}|]{4,180}")),
    ("path", re.compile(r"(?<![\w/.:])(?:~|\.{1,2})?/(?:[\w.@+-]+/)+[\w.@+-]{1,80}")),
    ("date", re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?\b")),
    (
        "id",
        re.compile(
            r"\b(?=[\w-]{0,40}\d)(?=[\w-]{0,40}[A-Za-z])[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)+\b|\b[A-Z]{2,6}\d{2,12}\b|#\d{1,8}\b"
        ),
    ),
    (
        "amount",
        re.compile(
            r"(?:[$€£]|USD |EUR |GBP )\d[\d,]*(?:\.\d+)?"
            r"|\b\d+(?:\.\d+)? ?(?:%|ms|GB|MB|KB|EUR|USD)\b"
        ),
    ),
)


def facts_of_value(root: object, source: str, limit: int) -> list[ExtractedFact]:
    """The worthiest leaves of a JSON value, each value once."""
    ranked = sorted(leaves(root), key=lambda leaf: -leaf.worth)
    return _distinct(((written(leaf.path), _text(leaf)) for leaf in ranked), source, limit)


def facts_of_rows(
    header: list[str], rows: list[list[str]], source: str, limit: int
) -> list[ExtractedFact]:
    """Cells as `column[row]`."""
    value = [dict(zip(header, row, strict=False)) for row in rows[:200]]
    found = facts_of_value(value, source, limit)
    return [ExtractedFact(fact.name, fact.value, source) for fact in found]


def facts_of_text(text: str, source: str, limit: int) -> list[ExtractedFact]:
    """`key: value` lines and named entities of a log or of prose."""
    start = text[:200_000]
    pairs = ((m.group(1).strip(), m.group(2)) for m in _PAIR.finditer(start))
    found = _distinct(pairs, source, limit // 2)
    seen = {fact.value for fact in found}
    entities = (
        (name, match.group().rstrip(".,;:"))
        for name, pattern in _ENTITIES
        for match in pattern.finditer(start)
    )
    rest = _distinct((e for e in entities if e[1] not in seen), source, limit - len(found))
    return found + rest


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
