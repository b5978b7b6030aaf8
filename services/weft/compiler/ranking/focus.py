"""Which results are in focus: they share values with the newest call and the latest messages, such
as the id of the record in work. The next step copies other values of such a record more often."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from math import fsum

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import (
    FOCUS_LOOK_BACK,
    FOCUS_MESSAGES,
    FOCUS_SHARED,
    FOCUS_TEXT,
    GROUPS_AFTER,
    NAMED_TURNS,
    NAMED_VALUES,
)
from weft.compiler.ranking.named_parts import is_word_in
from weft.compiler.ranking.relevance import MESSAGES
from weft.compiler.ranking.values import values
from weft.readmodel.rows import ItemRow
from weft_schemas.items import ItemKind


def focus_by_result(groups: Sequence[Group]) -> Mapping[int, float]:
    """How far a result is in focus, above 0 to 1, by sequence. A value counts by how few results
    state it; one that many state tells nothing."""
    recent = groups[-FOCUS_LOOK_BACK:]
    stated = {value for row in _latest_rows(recent) for value in values(_beginning(row))}
    results = [row for group in recent for row in group.rows[1:]]
    found = {row.sequence: stated.intersection(values(_beginning(row))) for row in results}
    counts = Counter(value for shared in found.values() for value in shared)
    focus = {
        at: fsum(1 / counts[value] for value in shared if counts[value] <= FOCUS_SHARED)
        for at, shared in found.items()
    }
    return {at: min(share, 1.0) for at, share in focus.items() if share}


def values_named_by_user(groups: Sequence[Group]) -> frozenset[str]:
    """What the latest user turn names and few results state: an order, the last digits of a card, a
    function, a person. Also what the turns before it name and no call has taken yet."""
    recent = groups[-FOCUS_LOOK_BACK:]
    turns = [group for group in reversed(groups) if group.rows[0].kind is ItemKind.USER_TURN]
    if not turns:
        return frozenset()
    latest = turns[0].rows[0]
    earlier = [turn.rows[0] for turn in turns[1:NAMED_TURNS] if turn.key >= recent[0].key]
    told = [one for one in values(_beginning(latest)) if is_specific(one) or _is_name(one)]
    taken = _specific_values(group.rows[0] for group in recent if group.is_call)
    told += [one for turn in earlier for one in _specific_in_order(turn) if one not in taken]
    named = tuple(islice(dict.fromkeys(told), NAMED_VALUES))
    results = [row for group in recent for row in group.rows[1:]]
    counts = Counter(value for row in results if named for value in _stated_values(named, row))
    return frozenset(value for value, count in counts.items() if count <= FOCUS_SHARED)


def latest_values(groups: Sequence[Group]) -> frozenset[str]:
    """The names and specific values in what was said and done last: the latest user turn, the
    message that it answers, the newest call since, and its results."""
    turns = [at for at, group in enumerate(groups) if group.rows[0].kind is ItemKind.USER_TURN]
    if not turns:
        return frozenset()
    at = turns[-1]
    before = (group.rows[0] for group in reversed(groups[:at]))
    others = (row for row in before if row.kind is not ItemKind.DOC_SNIPPET)
    answered = [row for row in islice(others, 1) if row.kind is ItemKind.AGENT_MSG]
    called = [group.rows for group in groups[at + 1 :] if group.is_call][-1:]
    rows = [groups[at].rows[0], *answered, *chain(*called)]
    found = {value for row in rows for value in values(_beginning(row))}
    return frozenset(value for value in found if is_specific(value) or _is_name(value))


def later_call_values(groups: Sequence[Group]) -> Mapping[int, frozenset[str]]:
    """The specific values of all calls after each result, by its sequence."""
    found: dict[int, frozenset[str]] = {}
    later: frozenset[str] = frozenset()
    for group in reversed(groups[-FOCUS_LOOK_BACK:]):
        found.update((row.sequence, later) for row in group.rows[1:])
        if group.is_call:
            later |= _specific_values(group.rows[:1])
    return found


def next_values(groups: Sequence[Group]) -> Mapping[int, frozenset[str]]:
    """The specific values in what was said and done next after each result, by its sequence."""
    recent = groups[-FOCUS_LOOK_BACK:]
    said = [_specific_values(group.rows) for group in recent]
    return {
        row.sequence: frozenset[str]().union(*said[at : at + GROUPS_AFTER])
        for at, group in enumerate(recent, 1)
        for row in group.rows[1:]
    }


def _specific_values(rows: Iterable[ItemRow]) -> set[str]:
    return {value for row in rows for value in _specific_in_order(row)}


def _specific_in_order(row: ItemRow) -> Iterator[str]:
    return filter(is_specific, values(_beginning(row)))


def _is_name(value: str) -> bool:
    return value[0].isupper() and len(value) >= MIN_NAME_LETTERS


MIN_NAME_LETTERS = 4
"""Least letters of a name; shorter words with a capital often just begin a sentence."""


def _stated_values(named: Collection[str], row: ItemRow) -> set[str]:
    """Which of these values a result states. Behind its beginning they are looked for as text."""
    found = set(named).intersection(values(_beginning(row)))
    if row.size_of_whole > FOCUS_TEXT:
        found |= {one for one in named if one not in found and is_word_in(one, row.whole)}
    return found


def is_specific(value: str) -> bool:
    """Whether it is no plain word: it has a digit, an underscore, or a capital inside."""
    return len(value) > 2 and _SPECIFIC.search(value) is not None


_SPECIFIC = re.compile(r"[\d_]|[a-z][A-Z]")


def _latest_rows(groups: Sequence[Group]) -> Iterator[ItemRow]:
    """The newest call, and the latest messages."""
    messages = 0
    is_called = False
    for group in reversed(groups):
        first = group.rows[0]
        if group.is_call and not is_called:
            is_called = True
            yield first
        elif first.kind in MESSAGES and messages < FOCUS_MESSAGES:
            messages += 1
            yield first
        if is_called and messages == FOCUS_MESSAGES:
            return


def _beginning(row: ItemRow) -> str:
    return row.whole if row.size_of_whole <= FOCUS_TEXT else row.whole[:FOCUS_TEXT]
