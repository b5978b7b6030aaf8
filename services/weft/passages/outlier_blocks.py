"""The few blocks of a list that differ from the others: by a rare value in a field or a column, or
by the elements in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from weft.passages.blocks import DISTINCT, LOOKED_AT, tag_of
from weft.passages.json_values import FIELD as JSON_FIELD
from weft.passages.lines import IndentedLine, is_object
from weft.passages.outliers import MIN_COMPARED, max_rare, rare_groups

_T = TypeVar("_T")
_OUTLIERS, _MAX_KINDS = 4, 4
"""Most values that make blocks differ; of blocks of more kinds, none does."""
_FIELD = re.compile(
    r"[ \t]*(?:[-*] )?(?:[*_]{0,2}([A-Za-z][\w ./()-]{0,39}?)(?::[*_]{1,2}|[*_]{0,2}:)[ \t]+"
    r"|<([A-Za-z][\w:.-]{0,39})>)(\S[^<\n]{0,79}?)\s*(?:</[^>\n]{1,42}>\s*)?\Z"
)
"""A line with the name of a field and its short value: `state: on`, `- **State:** on`,
`<state>on</state>`."""
_MIN_COLUMNS = 3
_GAP = re.compile(r"[ \t]{2,}|\t")
"""Between two columns."""
_SAMPLE = 4
"""Blocks that are looked at first: most texts are no such list, so the others need not be read."""


def outlier_blocks(text: str, groups: Sequence[Sequence[IndentedLine]]) -> frozenset[int]:
    """Positions of the few blocks that differ from the others of their list: by a rare value in a
    field or a column, and elements of XML by one in their start tag or by the elements in them."""
    if len(groups) < MIN_COMPARED:
        return frozenset()
    return _by_field(text, groups) | _by_column(text, groups) | _by_tag(text, groups)


def _by_field(text: str, groups: Sequence[Sequence[IndentedLine]]) -> frozenset[int]:
    has_objects = text.find('{"', groups[0][0].start, groups[-1][-1].end) >= 0
    listed = [
        at
        for at, group in enumerate(groups)
        if len(group) > 1 or (has_objects and is_object(text, group[0]))
    ]
    if len(listed) < max(MIN_COMPARED, len(groups) / 2):
        return frozenset()
    sample = [_values(text, groups[at]) for at in _sampled(listed)]
    shared = Counter(name for one in sample for name in one)
    if 2 * max(shared.values(), default=0) < len(sample):
        return frozenset()
    fields = [_values(text, groups[at]) for at in listed]
    counts = Counter(name for one in fields for name in one)
    names = [name for name, count in counts.items() if 2 * count >= len(fields)]
    records = [at for at, one in enumerate(fields) if any(name in one for name in names)]
    cells = [[fields[at].get(name, "") for name in names] for at in records]
    return frozenset(listed[records[at]] for group in rare_groups(cells, _OUTLIERS) for at in group)


def _sampled(all_of: Sequence[_T]) -> Sequence[_T]:
    return all_of[:: max(len(all_of) // _SAMPLE, 1)]


def _values(text: str, group: Sequence[IndentedLine]) -> dict[str, str]:
    """The short values in the first lines of a block, or in an object on one line, by name."""
    if is_object(text, group[0]):
        return dict(JSON_FIELD.findall(text, group[0].start, group[0].end))
    found = (_FIELD.match(text, line.start, line.end) for line in group[:LOOKED_AT])
    held: dict[str, str] = {}
    for field in found:
        if field is not None:
            held.setdefault(field[1] or field[2], field[3])
    return held


def _by_column(text: str, groups: Sequence[Sequence[IndentedLine]]) -> frozenset[int]:
    """Of lines in columns, as `kubectl get all` prints several tables."""
    sample = Counter(len(_cells(text, group)) for group in _sampled(groups))
    ((columns, count),) = sample.most_common(1)
    if columns < _MIN_COLUMNS or 2 * count < sample.total():
        return frozenset()
    rows = [_cells(text, group) for group in groups]
    listed = [at for at, row in enumerate(rows) if at and len(row) == columns]  # below the names
    if len(listed) < DISTINCT * len(groups):
        return frozenset()
    rare = rare_groups([rows[at] for at in listed], _OUTLIERS)
    return frozenset(listed[at] for group in rare for at in group)


def _cells(text: str, group: Sequence[IndentedLine]) -> list[str]:
    return _GAP.split(text[group[0].start : group[0].end].strip())


def _by_tag(text: str, groups: Sequence[Sequence[IndentedLine]]) -> frozenset[int]:
    tags = [tag_of(text, group[0]) for group in groups]
    counts = Counter(filter(None, tags))
    if not counts or max(counts.values()) < MIN_COMPARED:
        return frozenset()
    usual = max(counts, key=counts.__getitem__)
    listed = [at for at, tag in enumerate(tags) if tag == usual]
    starts = [text[groups[at][0].start : groups[at][0].end].split() for at in listed]
    found = {listed[at] for rare in rare_groups(starts, _OUTLIERS) for at in rare}
    kinds = [tuple(dict.fromkeys(tag_of(text, line) for line in groups[at])) for at in listed]
    kind_counts = Counter(kinds)
    if 2 * max(kind_counts.values()) >= len(listed) and len(kind_counts) <= _MAX_KINDS:
        few = max(max_rare(len(listed)), min(_OUTLIERS, len(listed) // MIN_COMPARED))
        found.update(at for at, kind in zip(listed, kinds, strict=True) if kind_counts[kind] <= few)
    return frozenset(found)
