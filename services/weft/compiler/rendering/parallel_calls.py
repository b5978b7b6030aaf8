"""Where the results of calls that were made together stand in a prompt that is cut: each below its
call. Apart from it a result needs a label that repeats the call, which took 4 of 100 tokens of
prompts of 1,000 tokens in seven sets of sessions that nobody tuned for. A session that is shown
whole stays in its order, and a provider's messages have their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Protocol

import msgspec

from weft.compiler.renditions.rendition import CURRENT, PARTS, STUB
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind


class Placed(Protocol):
    """The properties of an entry on which its place depends."""

    @property
    def item_id(self) -> str: ...
    @property
    def kind(self) -> ItemKind: ...
    @property
    def parent_id(self) -> str | None: ...


def is_cut(entries: Sequence[PackEntry]) -> bool:
    """Whether the entries leave out items, or parts of an item."""
    return any(one.omitted_before or one.view in (PARTS, STUB, CURRENT) for one in entries)


def below_calls(entries: Sequence[PackEntry]) -> list[PackEntry]:
    """The entries in the order of the prompt. What is left out before a result that moves is told
    before its call."""
    if not is_cut(entries):
        return list(entries)
    made: list[PackEntry] = []
    gaps = [place for place, one in enumerate(entries) if one.omitted_before]
    for places in calls_with_results(entries, gaps):
        first, *answers = (entries[place] for place in places)
        omitted = [one for one in (first, *answers) if one.omitted_before]
        if answers and omitted:
            first = msgspec.structs.replace(
                first,
                omitted_before=sum(one.omitted_before for one in omitted),
                omitted_calls="; ".join(one.omitted_calls for one in omitted if one.omitted_calls),
            )
            answers = [
                msgspec.structs.replace(one, omitted_before=0, omitted_calls="") for one in answers
            ]
        made += (first, *answers)
    return made


def calls_with_results(entries: Sequence[Placed], gaps: Iterable[int]) -> list[list[int]]:
    """The places of the entries in the order of the prompt: each call with its results, as far as
    only calls and results stand between them, and everything else by itself. `gaps` are the places
    of entries before which items are left out."""
    are_below = not any(entries[place].kind is ItemKind.TOOL_RESULT for place in gaps) and all(
        one.kind is not ItemKind.TOOL_RESULT or one.parent_id == above.item_id
        for above, one in pairwise(entries)
    )
    if are_below:  # nothing moves
        return [[place] for place in range(len(entries))]
    kinds = [one.kind for one in entries]
    made: list[list[int]] = []
    place = 0
    while place < len(kinds):
        results = _end(kinds, place, ItemKind.TOOL_CALL)
        if results == place:
            made.append([place])
            place += 1
            continue
        end = _end(kinds, results, ItemKind.TOOL_RESULT)
        calls = [[call] for call in range(place, results)]
        below = {entries[one].item_id: call for one, call in enumerate(calls, place)}
        apart: list[int] = []
        for result in range(results, end):
            below.get(entries[result].parent_id or "", apart).append(result)
        made += calls
        made += ([result] for result in apart)
        place = end
    return made


def _end(kinds: Sequence[ItemKind], place: int, kind: ItemKind) -> int:
    """Where the run of this kind ends that begins at a place."""
    while place < len(kinds) and kinds[place] is kind:
        place += 1
    return place
