"""Facts of a body: a name, a value, and the item that they come from. Memory and the next call's
arguments can use them without reading the text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

import re2

from weft.firewall.detect import Detected
from weft.firewall.form import Form
from weft.firewall.json_leaves import Leaf, Scalar, leaves, named_values, path_text
from weft.firewall.summarise.code import outlined, passages
from weft.firewall.summarise.compared import DELIMITED, Compared, ComparedTable
from weft.firewall.tables import read_table
from weft_schemas.envelope import ExtractedFact

_NAME = 120
"""Longest name of a fact, in characters."""
_VALUE = 200
"""Longest value of a fact, in characters; anything longer is text."""

_latin = re2.Options()
_latin.encoding = re2.Options.Encoding.LATIN1
_PAIR = re2.compile(
    rb"(?m)^[\s>*+-]{0,8}(?:\*\*)?([A-Za-z_][\w./-]{0,40}(?: [\w./-]{1,30}){0,2})(?:\*\*)?"
    rb"[ \t]{0,4}(?::|=|=>)(?:\*\*)?[ \t]+([^\s{\[|][^\n]{0,160})$"
)
_ENTITIES = (
    ("url", b"://", re2.compile(rb"\b(https?://[^\s<>\"'`)\]}|\\]{4,180})")),
    (
        "path",
        b"/",
        re2.compile(rb"(?:^|[^\w/.:<+=])((?:~|\.{1,2})?/(?:[\w.@+-]+/)+[\w.@+-]{1,80})"),
    ),
    (
        "date",
        b"-",
        re2.compile(rb"\b(\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?Z?)?)\b"),
    ),
    (
        "id",
        b"",
        re2.compile(
            rb"(?:^|[^\w./-])([A-Za-z][A-Za-z0-9]{0,30}(?:[_-][A-Za-z]{0,30}[0-9][A-Za-z0-9]*){1,6}"
            rb"|[A-Z]{2,6}[0-9]{2,12}|#[0-9]{1,8})\b"
        ),
    ),
    (
        "amount",
        b"",
        re2.compile(
            rb"((?:\$|\xe2\x82\xac|\xc2\xa3|USD |EUR |GBP )[0-9][0-9,]{0,20}(?:\.[0-9]{1,6})?"
            rb"|\b[0-9]{1,12}(?:,[0-9]{2,3}){0,6}(?:\.[0-9]{1,6})? ?"
            rb"(?:%|ms|GB|MB|KB|EUR|USD)(?:\b|$))",
            _latin,
        ),
    ),
)
_PASSAGE = 40
"""Characters of a passage's first line, which becomes its name."""
_PASSAGES = 20
_PER_ENTITY = 15
"""How many entities of one kind are taken."""
_FEW = 3
"""How many rows of a long table are taken if none differs from the others."""
_TEXT = 100_000
"""How many characters of a text are searched; drill-down finds the rest."""


def facts_of(
    text: str, detected: Detected, found: Compared | None, source: str, limit: int
) -> list[ExtractedFact]:
    """At most `limit` facts of a body, each value once. `source` is the id of the body's item.

    The most valuable values become facts; of more than `limit` records only those of records that
    differ from the others, or of a few if none does, see `found`. It is None for a body that passes
    whole: then the first values become facts, since nothing is lost.
    """
    value = detected.value
    if found is not None and found.table is not None:
        return _distinct(_worthiest(_leaves_of_table(found.table, limit), limit), source, limit)
    if found is not None and value is not None:
        every = leaves(value, found.outliers, limit)
        return _distinct(_worthiest(every, limit), source, limit)
    if detected.form in DELIMITED:
        table = read_table(text, detected.form, limit)
        value = [dict(zip(table.header, row, strict=False)) for row in table.rows]
    if value is not None:
        first = named_values(value, limit, _VALUE)
        return [ExtractedFact(name[:_NAME] or "value", x, source) for x, name in first.items()]
    if detected.form is Form.CODE:
        return facts_of_code(text, source, limit)
    return facts_of_text(text, source, limit)


def _leaves_of_table(one: ComparedTable, limit: int) -> list[Leaf]:
    """The values of the rows that differ from the others, of a short table those of all rows."""
    rows, header = one.table.rows, one.table.header
    taken: Sequence[int] = range(len(rows))
    if len(rows) > limit:
        taken = sorted(one.outliers) or range(_FEW)
    at = {index: place for place, index in enumerate(taken)}
    value = [dict(zip(header, rows[index], strict=False)) for index in taken]
    found = leaves(value, {(): [at[index] for index in one.outliers]}, len(value))
    return [
        Leaf((taken[int(leaf.path[0])], *leaf.path[1:]), leaf.value, leaf.worth) for leaf in found
    ]


def _worthiest(found: list[Leaf], limit: int) -> Iterable[tuple[str, str]]:
    """All leaves in order if there are few, otherwise the most valuable ones first."""
    if len(found) > limit:
        found = sorted(found, key=lambda leaf: -leaf.worth)
    return ((path_text(leaf.path), _text(leaf.value)) for leaf in found)


def facts_of_text(text: str, source: str, limit: int) -> list[ExtractedFact]:
    """The `key: value` lines and the named entities of a log or of prose."""
    start = text[:_TEXT].encode()
    pairs = ((_decoded(m.group(1)), _unquoted(_decoded(m.group(2)))) for m in _PAIR.finditer(start))
    found = _distinct(pairs, source, limit)
    seen = {fact.value for fact in found}
    entities = (
        (name, _decoded(match.group(1)).rstrip(".,;:"))
        for name, needle, pattern in _ENTITIES
        if needle in start
        for match in islice(pattern.finditer(start), _PER_ENTITY)
    )
    rest = _distinct((e for e in entities if e[1] not in seen), source, limit)
    half = max(limit // 2, limit - len(rest))
    return [*found[:half], *rest, *found[half:]][:limit]


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def facts_of_code(text: str, source: str, limit: int) -> list[ExtractedFact]:
    """Definitions, then the longest passages of long ones, with their line numbers."""
    _, numbered, found = outlined(text)
    definitions = [(x.name, f"{x.first}-{x.last}") for x in found]
    definitions += [
        (x.name[:_PASSAGE], f"{x.first}-{x.last}") for x in passages(numbered, found)[:_PASSAGES]
    ]
    return _distinct(definitions, source, limit)


def _unquoted(value: str) -> str:
    """A value without its quotes; empty if they do not close, and for prose."""
    value = value.strip().rstrip(",")
    if value[:1] in ("'", '"'):
        return value[1:-1].strip() if len(value) > 1 and value[-1] == value[0] else ""
    return value if value.count(" ") <= 8 else ""


def _text(value: Scalar) -> str:
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
