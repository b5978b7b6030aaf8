"""Splits JSON by its structure: an array into its elements, an object into its fields. It finds
only the positions of values and decodes nothing, so what is shown is what was written."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from weft.passages.literals import Decoded, Literal
from weft.passages.outliers import LOOK, MANY, has_few, rare_groups
from weft.passages.part import NAMES, TITLES, Part, moved
from weft.passages.prose import split_stretch

LEAF = 160
"""Most characters of neighbouring fields, or elements that are not records, in one part."""
RECORD = 480
"""Most characters of a record, or of a field's value, that is not split."""
TEXT = 640
"""A string with more characters is split into its lines."""
IDENTIFIER = 80
"""Most characters of a field that identifies its record."""
MOST_IDENTIFIERS, MOST_TITLES = 3, 2
"""Of one object; the second, those that are no ids."""
DEEPEST = 40
"""Most levels of nesting that are split."""

_QUOTED = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'


def _container(nested: str = "") -> str:
    """A pattern for a container whose inner containers match `nested`."""
    return rf'[{{\[](?:[^"{{}}\[\]]++|{_QUOTED}{nested})*+[}}\]]'


_RECORD = _container("|" + _container("|" + _container("|" + _container())))
"""A container, with three levels of others within it at most."""
_SMALL = re.compile(_RECORD)
_SMALL_BEFORE_COMMA = re.compile(_RECORD + r"[ \t\n\r]*+(,)[ \t\n\r]*+")
"""The same with the comma after it: most of a list of records."""
_SIGN = re.compile(rf'(?:[^"{{}}\[\],]++|{_QUOTED})*+([{{}}\[\],])[ \t\n\r]*+')
"""Text up to the next delimiter of values, the delimiter, and the blanks after it."""
_KEY = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"\s*:\s*')
_BLANK = " \t\n\r"


class _Value(msgspec.Struct, gc=False):
    """An element of an array or a field of an object while it is read."""

    begin: int
    """The end of the delimiter before it."""
    start: int
    """After the blanks."""
    end: int = -1
    """Before the blanks at its end."""
    width: int = 0
    """Including the blanks."""
    members: list[_Value] | None = None
    """For a container; None for scalars and for containers that are not split."""
    bracket: int = 0
    """Position of the container's opening bracket."""
    is_object: bool = False
    is_closed: bool = True
    """False if the text was cut off inside it."""

    def close(self, text: str, end: int) -> None:
        """Set its end, which is before the blanks that precede `end`."""
        self.width = end - self.begin
        while end > self.start and text[end - 1] in _BLANK:
            end -= 1
        self.end = end


Split = Callable[[Decoded], tuple[Part, ...]]
"""Returns the parts of a string's content."""


def split_json(decoded: Decoded, split: Split) -> Part | None:
    """The parts of a JSON text, None if it is too short to split."""
    root = _read(decoded)
    return None if root.members is None else _Splitting(decoded, split).container(root, "element")


def split_call(decoded: Decoded, split: Split) -> Part | None:
    """The arguments of a call written as `name({…})`, as parts."""
    text = decoded.text
    start = text.find("({") + 1
    held = tuple(Literal(one.start - start, one.end - start, one.held) for one in decoded.literals)
    inner = split_json(Decoded(text[start:-1], "json", held), split)
    if inner is None:
        return None
    children = tuple(moved(child, start) for child in inner.children)
    return Part(0, len(text), "call", 1, start + inner.opening, inner.closing + 1, False, children)


def _read(decoded: Decoded) -> _Value:
    """Read the values of a JSON text in one pass. A small container is skipped as a whole."""
    text = decoded.text
    starts = [literal.start for literal in decoded.literals]
    root = _Value(0, 0)
    open_values = [root]
    for at, following in _signs(decoded, open_values):
        sign = text[at]
        holder = open_values[-1]
        if sign in "{[":
            holder.bracket = at
            holder.is_object = sign == "{"
            holder.members = [_Value(at + 1, following)]
            open_values.append(holder.members[0])
        elif sign == ",":
            holder.close(text, at)
            more = _Value(at + 1, following)
            open_values[-2].members.append(more)  # type: ignore[union-attr]
            open_values[-1] = more
        else:
            holder.close(text, at)
            open_values.pop()
            closed = open_values[-1]
            is_small = at + 1 - closed.bracket <= _limit(open_values)
            opened = bisect_left(starts, at) - bisect_left(starts, closed.bracket)
            if (is_small or len(open_values) > DEEPEST) and not opened:
                closed.members = None
    for cut in open_values[1:]:
        cut.close(text, len(text))
    for holder in open_values[:-1]:
        holder.is_closed = False
    root.close(text, len(text))
    return root


def _limit(open_values: list[_Value]) -> int:
    """Most characters of the innermost open value that is not split."""
    return RECORD if len(open_values) > 1 else LEAF


def _signs(decoded: Decoded, open_values: list[_Value]) -> Iterator[tuple[int, int]]:
    """Each delimiter outside of decoded strings and small containers, and where the value after it
    starts."""
    text = decoded.text
    find, small, next_small = _SIGN.match, _SMALL.match, _SMALL_BEFORE_COMMA.match
    begins = (0, *(literal.end + 1 for literal in decoded.literals))
    ends = (*(literal.start - 1 for literal in decoded.literals), len(text))
    for at, end in zip(begins, ends, strict=True):
        while True:
            limit = min(end, at + _limit(open_values))
            found = next_small(text, at, limit)
            # At the limit more blanks may follow.
            if found is not None and found.end() < limit:
                at = found.end()
                yield found.start(1), at
                continue
            found = find(text, at, end)
            if found is None:
                break
            sign, at = found.start(1), found.end()
            if text[sign] in "{[":
                whole = small(text, sign, min(end, sign + _limit(open_values)))
                if whole is not None:
                    at = whole.end()
                    continue
            yield sign, at


class _Splitting:
    def __init__(self, decoded: Decoded, split: Split) -> None:
        self._text = decoded.text
        self._is_cut = decoded.is_cut
        self._literals = decoded.literals
        self._starts = [literal.start for literal in decoded.literals]
        self._split = split

    def container(self, value: _Value, unit: str) -> Part:
        """A container with its members as children; its opening ends with its bracket."""
        start, end = value.start, value.end
        opening = value.bracket + 1 - start
        members = value.members or []
        children = self._fields(members) if value.is_object else self._elements(members)
        closing = int(value.is_closed)
        return Part(start, end, unit, 1, opening, closing, False, tuple(children))

    def _elements(self, members: list[_Value]) -> list[Part]:
        text = self._text
        records = sum(text[one.start : one.start + 1] in ("{", "[") for one in members)
        unit = "record" if 2 * records >= len(members) else "element"
        return self._grouped(members, unit, RECORD if unit == "record" else LEAF)

    def _fields(self, members: list[_Value]) -> list[Part]:
        return self._grouped(members, "field", LEAF)

    def _grouped(self, members: list[_Value], unit: str, limit: int) -> list[Part]:
        """One part for each container that is split; small neighbours share a part."""
        text = self._text
        parts: list[Part] = []
        identifying = _identifying(text, members) if unit == "field" else ()
        differing = _differing(text, members) if unit == "record" else ()
        is_open = False
        for number, one in enumerate(members):
            start, end = one.start, one.end
            if start == end:
                continue
            large = self._large(one, start, end, unit)
            differs = number in differing
            if large is not None:
                parts.append(msgspec.structs.replace(large, differs=True) if differs else large)
                is_open = False
                continue
            identifies = number in identifying
            last = parts[-1] if parts and is_open else None
            small = unit != "record" or (end - start <= LEAF // 2 and not differs)
            if last and small and last.identifies == identifies and end - last.start <= limit:
                parts[-1] = Part(last.start, end, unit, last.count + 1, identifies=identifies)
            else:
                parts.append(Part(start, end, unit, identifies=identifies, differs=differs))
            is_open = small
        return _with_words(text, parts) if unit == "record" else parts

    def _large(self, value: _Value, start: int, end: int, unit: str) -> Part | None:
        """A member that has parts: a container, a decoded string or a long string."""
        if value.members:
            return self.container(value, unit)
        at = bisect_left(self._starts, start)
        if at < len(self._starts) and self._starts[at] < end:
            literal = self._literals[at]
            children = tuple(moved(part, literal.start) for part in self._split(literal.held))
            return Part(start, end, unit, 1, literal.start - start, end - literal.end,
                        False, children)  # fmt: skip
        if value.members is not None or end - start > TEXT:
            return self._long(start, end, unit)
        return None

    def _long(self, start: int, end: int, unit: str) -> Part:
        """A long string, split into lines and sentences inside its key and quotes."""
        text = self._text
        key = _KEY.match(text, start, end) if unit == "field" else None
        inner = key.end() if key else start
        if text[inner : inner + 1] != '"':
            return Part(start, end, unit)
        closing = 0 if self._is_cut and end == len(text) else 1
        children = split_stretch(text, inner + 1, end - closing)
        return Part(start, end, unit, 1, inner + 1 - start, closing, False, tuple(children))


def _identifying(text: str, fields: list[_Value]) -> tuple[int, ...]:
    """Positions of the fields that identify their record: those with an identifying name, otherwise
    the first one with a value and the first of several words. The first such field is its own id;
    of the others, titles come before ids of other things, and none is one that only programs
    read."""
    short = [
        (place, key)
        for place, one in enumerate(fields)
        if one.members is None
        and one.width <= IDENTIFIER
        and (key := _KEY.match(text, one.start, one.end)) is not None
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
        readable = [(place, name) for place, name, is_opaque in named if not is_opaque]
        titles = [place for place, name in readable if not _ID.search(name)][:MOST_TITLES]
        ids = [place for place, name in readable if _ID.search(name)]
        own = next((place for place, name, _ in named if NAMES.search(name)), named[0][0])
        # Its own id comes first, however it looks.
        kept = dict.fromkeys([own, *titles, *ids])
        return tuple(sorted(list(kept)[:MOST_IDENTIFIERS]))
    worded = [place for place, key in short if _WORDED.match(text, key.end())]
    return tuple(sorted({*[place for place, _ in short[:1]], *worded[:1]}))


def _with_words(text: str, records: list[Part]) -> list[Part]:
    """The same records; of one whose own fields are ids and what most others have, too, the first
    field with words identifies it, at whatever depth."""
    if len(records) < 2 or not any(record.children for record in records):
        return records
    held = [_own_fields(text, record) for record in records]
    shared = _shared(held)
    unnamed = [
        at
        for at, fields in enumerate(held)
        if records[at].children
        and all(one in shared or _is_id(one) or _IS_SIGN.search(one) for one in fields)
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


def _own_fields(text: str, record: Part) -> list[str]:
    """The short fields of a record that hold no others; of one that is not split, all of them."""
    if not record.children:
        return [found.group() for found in _FIELD.finditer(text, record.start, record.end)]
    leaves = (text[one.start : one.end] for one in record.children if not one.children)
    flat = (_SMALL.sub("", leaf) for leaf in leaves if len(leaf) <= RECORD)
    return [found.group() for leaf in flat for found in _FIELD.finditer(leaf)]


_IS_SIGN = re.compile(r':\s*(?:null|true|false|"")\Z')
"""The end of a field that names nothing."""


def _worded_fields(text: str, record: Part) -> list[re.Match[str]]:
    end = min(record.end, record.start + LOOKED_AT)
    return list(_WORDED_FIELD.finditer(text, record.start, end))


LOOKED_AT = 2_000
"""Characters of a record in which words are looked for."""
_WORDED_FIELD = re.compile(
    r'"[^"\\]{1,40}"\s*:\s*"([^\W\d_](?:[^"\\/\d\s]{1,60}|[^"\\\s]{0,60}\s[^"\\]{1,160}))"'
)
"""A field with a string of several words, or with one word without digits."""


def _shared(lists: Sequence[Sequence[str]]) -> frozenset[str]:
    """What more than half of these lists have, and more than one."""
    counts = Counter(one for held in lists for one in set(held))
    return frozenset(one for one, count in counts.items() if count > max(1, len(lists) / 2))


def _identified(part: Part, at: int) -> Part:
    """The same part, of which the leaf at a position identifies it, with all above that leaf."""
    children = tuple(
        _identified(msgspec.structs.replace(one, identifies=True), at)
        if one.start <= at < one.end
        else one
        for one in part.children
    )
    return msgspec.structs.replace(part, children=children)


_NO_VALUE = ("{", "[", "")
"""What follows a name whose value is no single one, or was cut off."""


def _differing(text: str, records: list[_Value]) -> frozenset[int]:
    """Positions of the records with a rare value in a field that has few, see `outliers`; the
    beginning of each is looked at."""
    # The text may be cut off in the last one.
    whole = [at for at, one in enumerate(records) if text[one.end - 1 : one.end] == "}"]
    if not MANY <= len(whole) <= MOST_COMPARED:
        return frozenset()
    fields = [_short_fields(text, records[at]) for at in whole[:LOOK]]
    names = [name for name in _common(fields) if has_few([one[name] for one in fields])]
    if not names:  # most lists end here, so the other records need not be read
        return frozenset()
    fields += [_short_fields(text, records[at]) for at in whole[LOOK:]]
    names = [name for name in _common(fields) if name in names]
    cells = [[one[name] for name in names] for one in fields]
    return frozenset(whole[at] for group in rare_groups(cells, OUTLIERS) for at in group)


def _short_fields(text: str, record: _Value) -> dict[str, str]:
    """The fields with a short value in the beginning of a record, by name."""
    return dict(_FIELD.findall(text, record.start, min(record.end, record.start + RECORD)))


def _common(fields: Sequence[Mapping[str, str]]) -> list[str]:
    """The names that all records have."""
    return [name for name in fields[0] if all(name in one for one in fields)]


_FIELD = re.compile(r'"([^"\\]{1,80})"\s*:\s*("[^"\\]{0,80}"|[^\s"{}\[\],]{1,40}|\[\]|\{\})')
"""A field with a short value, at whatever depth."""
OUTLIERS = 4
"""Most values that make records differ."""
MOST_COMPARED = 8_000
"""Records of one list; more would take longer than all else that is done with them."""


_ID = re.compile(r"(?:id|uuid|no|key|code|sku|number)$", re.IGNORECASE)
"""Names of ids, of which a record may have many, its own and those of others."""
_OPAQUE = re.compile(r"(?<![A-Za-z0-9])(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{12,}")
"""A run of letters and digits as programs make them: a hash, the end of a UUID, a long number."""
_WORDED = re.compile(r'"[^\W\d_][^"\\\s]*\s+[^\W_][^"\\]*"')
"""A string of several words: what people call the thing."""
NOTHING = frozenset({"null", "true", "false", '""', "[]", "{}"})
"""Values that cannot identify a record."""
_SAYS_NOTHING = re.compile(r'(?:\s*"[^"\\]{0,80}"\s*:\s*(?:null|""|\[\]|\{\})\s*(?:,|\Z))+\Z')


def says_nothing(text: str) -> bool:
    """Whether a piece of JSON has only fields without a value."""
    return text[-1:] in 'l"]}' and _SAYS_NOTHING.match(text) is not None


_BARE_ID = re.compile(
    r'\s*"(?:[^"\\]{0,60}(?:[_.\- ]|(?<=[a-z])(?=[IK])))?(?:[Uu]{0,2}[Ii][Dd]|[Kk]ey)"\s*:\s*'
    r'(?:"[^"\\\s]*"|\d+)[\s,]*'
)


_IS_OPAQUE = re.compile(rf'"\s*:\s*"?[^"\s]{{0,80}}?{_OPAQUE.pattern}[^"\s]*"?\Z')


def say_nothing(texts: Sequence[str]) -> list[bool]:
    """Which of these pieces of JSON, each the fields that identify one of an item's records, have
    only ids and what others have, too: they name no record to people."""
    fields = [[found.group() for found in _FIELD.finditer(text)] for text in texts]
    shared = _shared(fields)
    return [
        _BARE_ID.fullmatch(text) is not None
        or (bool(held) and all(one in shared or _is_id(one) for one in held))
        for text, held in zip(texts, fields, strict=True)
    ]


def _is_id(field: str) -> bool:
    """Whether a field has an id by its name, or one word that only programs read."""
    if _BARE_ID.fullmatch(field) is not None:
        return True
    return _IS_OPAQUE.search(field) is not None and _IS_NAME.search(field) is None


_IS_NAME = re.compile(r'@|"[A-Za-z]{4,}[0-9]{1,4}[A-Za-z]{0,20}"\s*\Z')
"""A login, an address or a model: people read it, though it has digits."""
