"""Which parts of a text stand under a name: the lines of a function, a section under its heading,
the fields of a record beside its id."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping

from weft.compiler.ranking.values import values
from weft.passages.part import RECORDS, Family, Outline, Part

MAX_HEADS = 3
"""Most parts of one text under one name. A name with more distinguishes nothing, like a key that
all records have."""
_TRIES = 8
"""Places at which a word may be part of longer words before the search ends."""


def is_word_in(word: str, text: str) -> bool:
    """Whether a text holds a word by itself, not only within longer words."""
    return next(places_of(word, text), -1) >= 0


def places_of(word: str, text: str) -> Iterator[int]:
    """Where a text holds a word by itself."""
    at = text.find(word)
    for _ in range(_TRIES):
        if at < 0:
            return
        before, after = text[at - 1 : at] if at else "", text[at + len(word) : at + len(word) + 1]
        if not (_goes_on(before) or _goes_on(after)):
            yield at
        at = text.find(word, at + 1)


def _goes_on(character: str) -> bool:
    return character.isalnum() or character == "_"


def under_named_heads(
    text: str, outline: Outline, named: Collection[str], most: float
) -> Mapping[int, int]:
    """The numbers of the leaves under a head that states some of these values, its own included,
    and how many it states. `most`: characters of the largest part that counts; of a whole class,
    its name says little."""
    wanted = frozenset(value for value in named if value in text)
    if not wanted:
        return {}
    headed: defaultdict[str, list[range]] = defaultdict(list)

    def walk(part: Part) -> None:
        family = outline.families.get(id(part))
        if family is None:
            return
        stated = wanted.intersection(_with_years(values(_head(text, part, family, outline))))
        if stated and part.size <= most:
            for value in stated:
                headed[value].append(range(family.firsts[0], family.firsts[-1]))
            return
        for child in part.children:
            walk(child)

    walk(outline.root)
    few = [places for places in headed.values() if len(places) <= MAX_HEADS]
    return Counter(number for places in few for place in places for number in place)


def _with_years(found: Collection[str]) -> set[str]:
    """These values, and the years of dates among them: people often name only the year."""
    return {*found, *(value[:4] for value in found if value[4:5] == "-" and value[:4].isdigit())}


def _head(text: str, part: Part, family: Family, outline: Outline) -> str:
    """A part's heading or key with what identifies it, the own fields of a record, or the first
    line of a block."""
    if part.unit == "block" and not part.opening:
        return text[part.start : outline.leaves[family.firsts[0]].end]
    if part.unit == "table":
        return ""  # the name of a column is as a key that all records have
    if part.unit in RECORDS:
        held = [one for one in part.children if not one.children]
    else:
        held = [part.children[at] for at in family.identifying]
    own = [text[one.start : one.end] for one in held]
    return "\n".join((text[part.start : part.start + part.opening], *own))
