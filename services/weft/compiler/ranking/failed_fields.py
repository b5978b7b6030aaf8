"""The fields that the newest failure names, such as one that is missing: the next call fills or
corrects them, with a value that stands in an older result."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import FOCUS_LOOK_BACK, FOCUS_SHARED, FOCUS_TEXT
from weft.compiler.ranking.named_parts import MAX_HEADS

_READ = 2_000
"""Characters of a failure in which names are looked for."""
_MAX_NAMES = 16
_FIELD = re.compile(
    r"(?<![\w/@-])(?:[A-Za-z_]\w{0,40}(?:\[\d{0,4}\])?\.){0,6}"
    r"([a-z][a-z\d]{0,40}(?:_[a-z\d]{1,40}){1,6}|[a-z]{1,40}[A-Z]\w{1,40})(?![\w/@-]|\.\w)"
    r"|(?<=[\"'`])([a-z][a-z_]{2,40})(?=\\?[\"'`])"
)
"""A name of several words, perhaps with the path to it, or a word in quotes: `header.po_number`,
`'labels'`."""
_KEY = re.compile(r"\\{0,3}[\"'`]?\s{0,2}[:=](?![:=])")
"""What follows a field of the failure itself."""
_VALUE_OF_ITS_OWN = r"[:=]\s?\\{{0,3}}[\"'`]{}\\{{0,3}}[\"'`]\s?[,)}}\]]"
"""The value of such a field that is one word."""
_AROUND = 8
"""Characters before and behind a word that are read for that."""


def fields_of_failure(groups: Sequence[Group]) -> frozenset[str]:
    """The names in the results of the newest call that has any, if it failed. `groups` are in
    order."""
    answered = (group for group in reversed(groups) if group.is_call and len(group.rows) > 1)
    rows = [row for group in islice(answered, 1) for row in group.rows[1:] if row.failed]
    return frozenset(name for row in rows for name in islice(_names(row.whole), _MAX_NAMES))


def _names(text: str) -> Iterator[str]:
    """What the text names besides its own fields and their values, in order."""
    named = [(one[1] or one[2], one) for one in _FIELD.finditer(text[:_READ])]
    own = {name for name, one in named if _KEY.match(text, one.end()) is not None}
    for name, one in named:
        around = text[max(one.start() - _AROUND, 0) : one.end() + _AROUND]
        is_value = one[2] is not None and re.search(_VALUE_OF_ITS_OWN.format(name), around)
        if name not in own and not is_value:
            yield name


def field_places(groups: Sequence[Group], fields: Collection[str]) -> Mapping[int, frozenset[int]]:
    """By sequence of a result, where it gives values for those of these fields that fewest results
    have. `groups` are in order."""
    if not fields:
        return {}
    recent = [group for group in groups[-FOCUS_LOOK_BACK:] if group.is_call]
    rows = [row for group in recent for row in group.rows[1:] if not row.failed]
    given = _pattern(fields)
    found = {
        row.sequence: [
            (one[1] or one[2], one.start(one.lastindex or 0))
            for one in given.finditer(row.readable[:FOCUS_TEXT])
        ]
        for row in rows
    }
    counts = Counter(name for places in found.values() for name in {name for name, _ in places})
    rarest = min(counts.values(), default=0)
    wanted = {
        at: [place for name, place in one if counts[name] == rarest] for at, one in found.items()
    }
    few = {at: frozenset(places) for at, places in wanted.items() if 0 < len(places) <= MAX_HEADS}
    return few if rarest <= FOCUS_SHARED else {}


_VALUE = r"(?!null|[\[{]|\\?\"\\?\")\S"
"""What is no list and no object, in JSON."""


def _pattern(fields: Collection[str]) -> re.Pattern[str]:
    """One of these fields with a value in JSON, or in a line of its own."""
    names = "|".join(map(re.escape, sorted(fields, key=len, reverse=True)))
    return re.compile(
        rf"[\"']({names})\\?[\"']\s{{0,4}}:\s{{0,4}}{_VALUE}"
        rf"|^[ \t]*(?:[-*][ \t]+)?({names}):[ \t]+\S",
        re.MULTILINE,
    )
