"""Which fields identify a JSON record: those with an identifying name, otherwise the first one with
a value and the first of several words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from weft.passages.identifying_names import IDS, NAMES, TITLES
from weft.passages.json_values import FIELD, KEY, RECORD, SMALL, Value
from weft.passages.part import Part

IDENTIFIER = 80
"""Most characters of a field that identifies its record."""
MIN_LINKS = 4
"""Addresses in one object that are links of an interface, and not what a record is about."""
MAX_IDENTIFIERS, MAX_TITLES = 3, 2
"""Of one object; the second, those that are no ids."""
WORDED_WITHIN = 2_000
"""Characters of a record in which words are looked for."""
NOTHING = frozenset({"null", "true", "false", "None", "True", "False", '""', "[]", "{}"})
"""Values that cannot identify a record."""
_NO_VALUE = ("{", "[", "")
"""What follows a name whose value is no single one, or was cut off."""
_BARE_ID = re.compile(
    r'\s*"(?:[^"\\]{0,60}(?:[_.\- ]|(?<=[a-z])(?=[IK])))?(?:[Uu]{0,2}[Ii][Dd]|[Kk]ey)"\s*:\s*'
    r'(?:"[^"\\\s]*"|\d+)[\s,]*'
)
_ADDRESS = re.compile(r'"\w{2,10}://')
"""The beginning of a value that is an address."""
_OPAQUE = re.compile(r"(?<![A-Za-z0-9])(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{12,}")
"""A run of letters and digits as programs make them: a hash, the end of a UUID, a long number."""
_ENDS_OPAQUE = re.compile(rf'"\s*:\s*"?[^"\s]{{0,80}}?{_OPAQUE.pattern}[^"\s]*"?\Z')
_READABLE = re.compile(r'@|"[A-Za-z]{4,}[0-9]{1,4}[A-Za-z]{0,20}"\s*\Z')
"""A login, an address or a model: people read it, though it has digits."""
_WORDED = re.compile(r'"[^\W\d_][^"\\\s]*\s+[^\W_][^"\\]*"')
"""A string of several words: what people call the thing."""
_WORDED_FIELD = re.compile(
    r'"[^"\\]{1,40}"\s*:\s*"([^\W\d_](?:[^"\\/\d\s]{1,60}|[^"\\\s]{0,60}\s[^"\\]{1,160}))"'
)
"""A field with a string of several words, or with one word without digits."""
_ENDS_EMPTY = re.compile(r':\s*(?:null|None|[Tt]rue|[Ff]alse|"")\Z')
"""The end of a field that names nothing."""
_EMPTY_FIELDS = re.compile(r'(?:\s*"[^"\\]{0,80}"\s*:\s*(?:null|None|""|\[\]|\{\})\s*(?:,|\Z))+\Z')


def identifying_fields(text: str, fields: list[Value]) -> tuple[int, ...]:
    """Positions of the fields that identify their record. The first one with an identifying name is
    its own id. Of the others, titles come before ids of other things, and values that only programs
    read are left out."""
    short = [
        (place, key)
        for place, one in enumerate(fields)
        if one.members is None
        and one.width <= IDENTIFIER
        and (key := KEY.match(text, one.start, one.end)) is not None
        and key.end() < one.end  # the text may be cut off before the value
        and text[key.end() : one.end] not in NOTHING
    ]
    named = [
        (place, key[1], _OPAQUE.search(text, key.end(), fields[place].end) is not None)
        for place, key in short
        if (NAMES.search(key[1]) or TITLES.search(key[1]))
        and text[key.end() : key.end() + 1] not in _NO_VALUE
    ]
    if named:
        addresses = {place for place, _ in short if _ADDRESS.search(text, *_span(fields[place]))}
        readable = [(place, name) for place, name, is_opaque in named if not is_opaque]
        said = [(place, name) for place, name in readable if place not in addresses]
        titles = [place for place, name in said if not IDS.search(name)][:MAX_TITLES]
        ids = [place for place, name in said if IDS.search(name)]
        places = [place for place, name, _ in named if NAMES.search(name)]
        own = next((place for place in places if place not in addresses), [*places, named[0][0]][0])
        # Its own id comes first, however it looks, and an address last: it often repeats the id.
        kept = dict.fromkeys([own, *titles, *ids, *(place for place, _ in readable)])
        return tuple(sorted(list(kept)[:MAX_IDENTIFIERS]))
    worded = [place for place, key in short if _WORDED.match(text, key.end())]
    return tuple(sorted({*[place for place, _ in short[:1]], *worded[:1]}))


def link_fields(text: str, fields: list[Value]) -> frozenset[int]:
    """Positions of the fields with addresses in an object that has many: an interface's own links,
    which repeat the ids of what they lead to."""
    if len(fields) < MIN_LINKS:
        return frozenset()
    found = [
        place
        for place, one in enumerate(fields)
        if one.members is None
        and (key := KEY.match(text, one.start, one.end)) is not None
        and _ADDRESS.match(text, key.end(), one.end) is not None
    ]
    return frozenset(found) if len(found) >= MIN_LINKS else frozenset()


def _span(value: Value) -> tuple[int, int]:
    return value.start, value.end


def identified_by_words(text: str, records: list[Part]) -> list[Part]:
    """The same records. If a record's own fields are only ids and what most others have, too, the
    first field with words inside it, at whatever depth, identifies it."""
    if len(records) < 2 or not any(record.children for record in records):
        return records
    held = [_own_fields(text, record) for record in records]
    shared = _shared(held)
    unnamed = [
        at
        for at, fields in enumerate(held)
        if records[at].children
        and all(one in shared or _is_id(one) or _ENDS_EMPTY.search(one) for one in fields)
    ]
    worded = [_worded_fields(text, records[at]) for at in unnamed]
    shared = _shared([[found.group() for found in one] for one in worded])
    made = list(records)
    for at, found in zip(unnamed, worded, strict=True):
        own = [one for one in found if one.group() not in shared]
        spaced = (one for one in own if " " in one[1])
        chosen = next(spaced, own[0] if own else None)
        if chosen is not None:
            made[at] = _identified(records[at], chosen.start())
    return made


def has_only_empty_fields(text: str) -> bool:
    """Whether a piece of JSON has only fields without a value."""
    return text[-1:] in 'l"]}' and _EMPTY_FIELDS.match(text) is not None


def are_nameless(texts: Sequence[str]) -> list[bool]:
    """Which of these pieces of JSON name no record to people: they have only ids, and what the
    others have, too. Each piece holds the fields that identify one record of an item."""
    fields = [[found.group() for found in FIELD.finditer(text)] for text in texts]
    shared = _shared(fields)
    return [
        _BARE_ID.fullmatch(text) is not None
        or (bool(held) and all(one in shared or _is_id(one) for one in held))
        for text, held in zip(texts, fields, strict=True)
    ]


def _own_fields(text: str, record: Part) -> list[str]:
    """The short fields of a record that hold no others; of one that is not split, all of them."""
    if not record.children:
        return [found.group() for found in FIELD.finditer(text, record.start, record.end)]
    leaves = (text[one.start : one.end] for one in record.children if not one.children)
    flat = (SMALL.sub("", leaf) for leaf in leaves if len(leaf) <= RECORD)
    return [found.group() for leaf in flat for found in FIELD.finditer(leaf)]


def _worded_fields(text: str, record: Part) -> list[re.Match[str]]:
    end = min(record.end, record.start + WORDED_WITHIN)
    return list(_WORDED_FIELD.finditer(text, record.start, end))


def _shared(lists: Sequence[Sequence[str]]) -> frozenset[str]:
    """The elements that more than half of these lists have, and more than one list."""
    counts = Counter(one for held in lists for one in set(held))
    return frozenset(one for one, count in counts.items() if count > max(1, len(lists) / 2))


def _identified(part: Part, at: int) -> Part:
    """The same part, in which the leaf at a position, and all above that leaf, identify it."""
    children = tuple(
        _identified(msgspec.structs.replace(one, identifies=True), at)
        if one.start <= at < one.end
        else one
        for one in part.children
    )
    return msgspec.structs.replace(part, children=children)


def _is_id(field: str) -> bool:
    """Whether a field has an id by its name, or one word that only programs read."""
    if _BARE_ID.fullmatch(field) is not None:
        return True
    return _ENDS_OPAQUE.search(field) is not None and _READABLE.search(field) is None
