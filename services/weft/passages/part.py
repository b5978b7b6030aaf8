"""A text as a tree of parts: sections and paragraphs, records and fields, rows and lines. Its
leaves are the smallest pieces that a prompt shows. Marks count what is left out in their units."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import msgspec

from weft.recent_texts import cached


class Part(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True, gc=False):
    """A stretch of a text, in characters. Children lie inside it, in order."""

    start: int
    end: int
    """Exclusive."""
    unit: str = "line"
    """What it is among its siblings: `record`, `field`, `element`, `row`, `node` (an element of
    markup), `section`, `item` (a record in lines), `block`, `paragraph`, `sentence` or `line`."""
    count: int = 1
    """How many of these it is."""
    opening: int = 0
    """Characters at its start that are shown with any of its children: a heading, a table's
    header, a key and a bracket."""
    closing: int = 0
    """The same at its end."""
    identifies: bool = False
    """It says which thing its siblings are about, so it is shown with any of them."""
    children: tuple[Part, ...] = ()
    is_outlier: bool = False
    """It is one of the few records or lines that differ from the others, leads a ranking, or
    warns."""
    is_aside: bool = False
    """It stands beside what a page says: navigation, a form, a footer."""

    @property
    def size(self) -> int:
        return self.end - self.start


class Family(msgspec.Struct, frozen=True):
    """Facts about a part's children that are needed often, computed once."""

    firsts: Sequence[int]
    """The number of each child's first leaf, counted in the whole text; then the number of the
    next part's first leaf."""
    counts: Sequence[int]
    """Units in all children before each child; then units in all of them."""
    identifying: tuple[int, ...]
    """Positions of the identifying children."""
    units: frozenset[str]

    def child_of(self, leaf: int) -> int:
        """The position of the child that holds a leaf."""
        return bisect_right(self.firsts, leaf) - 1


class PassagePlace(NamedTuple):
    """Where a passage is, in characters of its text."""

    start: int
    end: int
    openings: tuple[tuple[int, int], ...]
    """Beginning and end of each heading or key above it, the outermost first."""


class Outline(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True, dict=True):
    """A text's parts, and the notation of the text."""

    root: Part
    is_json: bool = False
    passages: tuple[int, ...] = ()
    """The number of each passage's first leaf. Leaves are counted from 0 in order of the text."""
    has_literals: bool = False
    """Its positions refer to the text without its wrapper, with its long strings decoded, see
    `literals.decoded`."""
    wrapper: str = ""
    """The mark of the wrapper, see `mcp_wrapper`; it ends every text that shows parts."""

    @cached_property
    def leaves(self) -> tuple[Part, ...]:
        """The parts without children, in order."""
        return tuple(leaves(self.root))

    @cached_property
    def sizes(self) -> list[int]:
        """Characters in all leaves before each leaf; then in all of them."""
        return list(accumulate((leaf.size for leaf in self.leaves), initial=0))

    @cached_property
    def identities(self) -> frozenset[int]:
        """The numbers of the leaves that say which things a list has."""
        found: set[int] = set()
        for part in _lists(self.root, self.families):
            for record in part.children:
                if record.unit in RECORDS:
                    found.update(_identifying_leaves(record, self.families))
        return frozenset(found)

    @cached_property
    def record_of(self) -> Mapping[int, int]:
        """For each leaf in a record or row of an outermost list: the record's first leaf."""
        return {leaf: record[0] for record in _records(self.root, self.families) for leaf in record}

    def record_at(self, leaf: int) -> range:
        """The leaves of the record or row that holds this one; empty outside of lists."""
        first = self.record_of.get(leaf)
        if first is None:
            return range(0)
        end = leaf + 1
        while self.record_of.get(end) == first:
            end += 1
        return range(first, end)

    @cached_property
    def outliers(self) -> frozenset[int]:
        """The numbers of the leaves in records that stand out in their list."""
        return self._leaves_in(lambda part: part.is_outlier)

    @cached_property
    def asides(self) -> frozenset[int]:
        """The numbers of the leaves that stand beside what a page says."""
        return self._leaves_in(lambda part: part.is_aside)

    def _leaves_in(self, wanted: Callable[[Part], bool]) -> frozenset[int]:
        """The numbers of all leaves in the parts that are wanted."""
        found: set[int] = set()
        stack = [(self.root, 0)]
        while stack:
            part, first = stack.pop()
            family = self.families.get(id(part))
            if wanted(part):
                found.update(range(first, family.firsts[-1] if family else first + 1))
            elif family is not None:
                stack += zip(part.children, family.firsts, strict=False)
        return frozenset(found)

    @cached_property
    def places(self) -> tuple[PassagePlace, ...]:
        """Where each passage is in the text."""
        starts = {number: at for at, number in enumerate(self.passages)}
        found: list[tuple[int, tuple[tuple[int, int], ...]]] = []

        def walk(part: Part, number: int, above: tuple[tuple[int, int], ...]) -> int:
            if not part.children:
                if number in starts:
                    found.append((part.start, above))
                return number + 1
            opening = min(part.opening, MAX_HEADING_LENGTH)
            below = (*above, (part.start, part.start + opening)) if opening > 0 else above
            for child in part.children:
                if len(found) == len(starts):
                    break
                number = walk(child, number, below)
            return number

        walk(self.root, 0, ())
        ends = [start for start, _ in found[1:]] + [self.root.end]
        return tuple(
            PassagePlace(start, end, above) for (start, above), end in zip(found, ends, strict=True)
        )

    @cached_property
    def families(self) -> dict[int, Family]:
        """For each part that has children, by its `id`."""
        found: dict[int, Family] = {}
        _add_families(self.root, 0, found)
        return found


RECORDS = frozenset({"record", "item"})
"""Units of the records of a list, in JSON and in lines."""
LISTED = RECORDS | {"row"}
"""The same, and those of a table."""


def _lists(part: Part, families: Mapping[int, Family]) -> Iterator[Part]:
    """The parts that are lists of several records."""
    family = families.get(id(part))
    if family is None:
        return
    if sum(child.count for child in part.children if child.unit in RECORDS) > 1:
        yield part
    for child in part.children:
        yield from _lists(child, families)


def _records(part: Part, families: Mapping[int, Family]) -> Iterator[range]:
    """The numbers of the leaves of each record or row, of the outermost lists of several."""
    family = families.get(id(part))
    if family is None:
        return
    places = [at for at, one in enumerate(part.children) if one.unit in LISTED]
    if len(places) > 1:
        yield from (range(family.firsts[at], family.firsts[at + 1]) for at in places)
        return
    for child in part.children:
        yield from _records(child, families)


def _identifying_leaves(part: Part, families: Mapping[int, Family]) -> Iterator[int]:
    """The numbers of the leaves that say which thing a record is."""
    family = families.get(id(part))
    if family is None:
        return
    for at in family.identifying:
        child = part.children[at]
        if id(child) in families:
            yield from _identifying_leaves(child, families)
        else:
            yield family.firsts[at]


def _add_families(part: Part, first: int, found: dict[int, Family]) -> int:
    """Add a part and what is in it, from its first leaf's number. Returns the number of the next
    part's first leaf."""
    firsts, children = [first], part.children
    for child in children:
        first = _add_families(child, first, found) if child.children else first + 1
        firsts.append(first)
    found[id(part)] = Family(
        firsts,
        list(accumulate((child.count for child in children), initial=0)),
        tuple(at for at, child in enumerate(children) if child.identifies),
        frozenset(child.unit for child in children),
    )
    return first


def leaves(part: Part) -> Iterator[Part]:
    """The parts without children, in order."""
    stack = [part]
    while stack:
        part = stack.pop()
        if part.children:
            stack += part.children[::-1]
        else:
            yield part


def shifted(part: Part, by: int) -> Part:
    """The same part, moved by so many characters."""
    children = tuple(shifted(child, by) for child in part.children)
    return msgspec.structs.replace(
        part, start=part.start + by, end=part.end + by, children=children
    )


def leaf_count(part: Part) -> int:
    return sum(leaf_count(child) if child.children else 1 for child in part.children) or 1


PASSAGE = 600
"""Characters that make a passage, the unit of the text search: about 150 tokens of prose."""


def outlined(
    root: Part, is_json: bool = False, has_literals: bool = False, wrapper: str = ""
) -> Outline:
    """The outline with its passages. A passage has as many leaves as reach `PASSAGE` characters,
    or a quarter of these before a record in lines."""
    starts: list[int] = []
    size = PASSAGE
    begins = frozenset(_record_starts(root))
    for number, leaf in enumerate(leaves(root)):
        least = PASSAGE // 4 if leaf.start in begins else PASSAGE
        if size >= least or (size and size + leaf.size > 2 * PASSAGE):
            starts.append(number)
            size = 0
        size += leaf.size
    return Outline(root, is_json, tuple(starts), has_literals, wrapper)


def _record_starts(part: Part) -> Iterator[int]:
    """Where blocks of lines begin that are told apart by more than their first line, and are no
    smaller than half a passage: other blocks are parts of one thing, as those of code."""
    for child in part.children:
        if child.children:
            told = sum(one.count for one in child.children if one.identifies)
            if child.unit == "block" and told > 1 and child.size >= PASSAGE // 2:
                yield child.start
            yield from _record_starts(child)


def passage_texts(text: str, outline: Outline) -> list[str]:
    """What the text index holds of each passage: its text below its headings and keys."""
    return [passage_text(text, outline, number) for number in range(len(outline.places))]


def passage_text(text: str, outline: Outline, number: int) -> str:
    """The same of one passage, by its number from 0."""
    place = outline.places[number]
    openings = (text[start:end] for start, end in place.openings)
    above = [opening for opening in openings if opening.strip()]
    return "\n".join((*above, text[place.start : place.end]))


MAX_HEADING_LENGTH = 160
"""Characters of a heading that are indexed with the passages under it."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Outline)


def packed(outline: Outline | None) -> bytes:
    """The outline as stored in the read model; empty for a text that is one passage."""
    return b"" if outline is None else _encoder.encode(outline)


REMEMBERED = 64
"""Cached outlines: each compile needs those of all recent results, and decoding the outline of
200 KB of records takes a millisecond."""


@cached(REMEMBERED, long=32 * 1024)  # of a text of half a megabyte
def unpacked(data: bytes) -> Outline | None:
    """The inverse of `packed`."""
    return _decoder.decode(data) if data else None
