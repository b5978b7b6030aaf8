"""What a prompt costs: entries made of renditions, and their tokens as they are sent. Entries and
costs are made once, however often the budget fit needs them.
"""

from __future__ import annotations

import copy
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from weft.adapters.drafting import compact
from weft.adapters.steps import omission
from weft.compiler.candidates.closure import Group
from weft.compiler.rendering.counting import MESSAGE, Count, prompt_tokens
from weft.compiler.rendering.entries import has_several_days, without_same_day_times
from weft.compiler.rendering.fencing import has_data, is_message
from weft.compiler.rendering.legend import (
    FENCES,
    HANDLES,
    MESSAGES,
    OMISSIONS,
    OMITTED_CALLS,
    OPENING,
    SECRETS,
    has_secret_mark,
    legend,
)
from weft.compiler.rendering.message_tokens import message_tokens
from weft.compiler.rendering.named_calls import NamedCall, calls_text
from weft.compiler.rendering.parallel_calls import calls_with_results
from weft.compiler.rendering.prompt import block, label, label_below_call
from weft.compiler.renditions.rendition import CURRENT, PARTS, STUB, Rendition
from weft.days import day_of, day_text
from weft.readmodel.rows import ItemRow
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind

Shown = dict[int, Rendition]
"""Sequence → rendition."""

ROLE = 2
"""Tokens of a label, which messages do not have."""
FILLERS = 12
"""Tokens that a provider's rules add: a first user message, a last one."""
CALL_IDS = 4
"""Tokens of a call's id, in the call and in its result, and of the syntax around them."""
LINE_BREAK = 1
"""Tokens of the last block's line break, at most, which the prompt does not have."""
FAR = 64
"""Twice the sum of the blocks and this many tokens is always above the cost of any provider's
messages."""


class _Cost(NamedTuple):
    """Tokens of one entry, and what the cost of others depends on."""

    after_call: int
    """Its block right after its call, line break included."""
    alone: int
    """Its block elsewhere."""
    extra: int
    """Approximate extra tokens as a message, if the speaker stays the same."""
    speaker: str
    """Consecutive entries of one speaker become one message; each call and result is its own."""
    occurred_at: str | None
    kind: ItemKind
    item_id: str
    parent_id: str | None
    has_gaps: bool
    has_fence: bool
    has_message: bool
    has_handle: bool
    has_secret: bool


class Costed(msgspec.Struct, frozen=True):
    """A finished prompt's entries, in tokens."""

    entries: tuple[PackEntry, ...]
    prompt: int
    messages: dict[str, int]
    """Per provider."""


Make = Callable[[ItemRow, Rendition], PackEntry]


class PromptCost:
    """`above` are the entries of memory and tools; `groups` are all rows that may be shown."""

    def __init__(
        self,
        above: Sequence[PackEntry],
        groups: Sequence[Group],
        make: Make,
        count: Count,
    ) -> None:
        self.above = tuple(above)
        self.rows = {row.sequence: row for group in groups for row in group.rows}
        self._ordinals = {sequence: row.ordinal for sequence, row in self.rows.items()}
        self._place = _places(groups)
        self._make = make
        self._count = count
        self.named: Mapping[int, NamedCall] = {}
        self._lists: dict[tuple[int, ...], str] = {}
        self._entries: dict[int, tuple[Rendition, PackEntry, _Cost]] = {}
        self._above = sum(count(made.text + "\n") for made in self.above)
        self._has_secret_above = any(map(has_secret_mark, self.above))
        self._costed: dict[frozenset[int], Costed] = {}
        self._sized: dict[frozenset[int], tuple[int, int]] = {}

    def with_named_calls(self, calls: Mapping[int, NamedCall]) -> PromptCost:
        """The same with the marks of items that are left out naming these calls, by sequence."""
        made = copy.copy(self)
        made._lists = {}
        made.named = dict(sorted(calls.items(), key=lambda one: one[1].ordinal))
        made._costed, made._sized = {}, {}
        return made

    def entries(self, shown: Mapping[int, Rendition]) -> list[PackEntry]:
        """All entries: legend and header, then the items in the order in which they happened."""
        made = []
        missing, calls = self._missing(shown), self._calls_before(shown)
        for sequence in self._in_order(shown):
            one = self._entry(sequence, shown[sequence])[1]
            if sequence in missing:
                one = msgspec.structs.replace(
                    one, omitted_before=missing[sequence], omitted_calls=calls.get(sequence, "")
                )
            made.append(one)
        notation = legend([*self.above, *made])
        return [*([notation] if notation else []), *self.above, *without_same_day_times(made)]

    def _missing(self, shown: Mapping[int, Rendition]) -> dict[int, int]:
        """The number of items left out before each of these; only numbers above 0."""
        ordinals = self._ordinals
        in_order = sorted(shown, key=ordinals.__getitem__)
        places = [ordinals[sequence] for sequence in in_order]
        return {
            sequence: place - before - 1
            for sequence, place, before in zip(in_order, places, [-1, *places], strict=False)
            if place > before + 1
        }

    def _calls_before(self, shown: Mapping[int, Rendition]) -> dict[int, str]:
        """The named calls that are left out before each of these items."""
        return {at: self._list_of(calls) for at, calls in self.named_before(shown).items()}

    def _list_of(self, calls: tuple[int, ...]) -> str:
        """The names of these calls, written once."""
        if calls not in self._lists:
            self._lists[calls] = calls_text([self.named[one] for one in calls])
        return self._lists[calls]

    def named_before(self, shown: Mapping[int, Rendition]) -> dict[int, tuple[int, ...]]:
        """The sequences of the calls that are named in the mark before each of these items."""
        if not self.named:
            return {}
        ordinals = self._ordinals
        in_order = sorted(shown, key=ordinals.__getitem__)
        places = [ordinals[sequence] for sequence in in_order]
        found = defaultdict[int, list[int]](list)
        for call, told in self.named.items():
            at = bisect_right(places, told.ordinal)
            if call not in shown and at < len(in_order):
                found[in_order[at]].append(call)
        return {at: tuple(calls) for at, calls in found.items()}

    def costed(self, shown: Mapping[int, Rendition]) -> Costed:
        """The entries, with the exact tokens of what is sent."""
        made = self._costed.get(key := _key(shown))
        if made is None:
            entries = self.entries(shown)
            messages = message_tokens(entries, self._count) if entries else {}
            made = Costed(tuple(entries), prompt_tokens(entries, self._count), messages)
            self._costed[key] = made
        return made

    def exact(self, shown: Mapping[int, Rendition]) -> int:
        """Tokens of the prompt or of the longest provider's messages, whichever is more."""
        costed = self.costed(shown)
        return max(costed.prompt, *costed.messages.values(), 0)

    def fits(self, shown: Mapping[int, Rendition], limit: int) -> bool:
        """Whether `exact` is at most `limit`. Messages are counted only if the sum of the blocks
        leaves that open."""
        prompt, extra = self._sizes(shown)
        if prompt - LINE_BREAK > limit:
            return False
        return (prompt + extra) * 2 + FAR <= limit or self.exact(shown) <= limit

    def size(self, shown: Mapping[int, Rendition]) -> int:
        """As `exact`, added up from the blocks."""
        return sum(self._sizes(shown))

    def _sizes(self, shown: Mapping[int, Rendition]) -> tuple[int, int]:
        """Tokens of the prompt with a line break behind it, and about how many more the longest
        provider's messages have."""
        sizes = self._sized.get(key := _key(shown))
        if sizes is None:
            sizes = self._sized[key] = self._added_up(shown)
        return sizes

    def _added_up(self, shown: Mapping[int, Rendition]) -> tuple[int, int]:
        missing, calls = self._missing(shown), self._calls_before(shown)
        in_order = self._in_order(shown)
        costs = [self._entry(sequence, shown[sequence])[2] for sequence in in_order]
        gaps = [place for place, sequence in enumerate(in_order) if sequence in missing]
        is_cut = bool(gaps) or any(cost.has_gaps for cost in costs)
        places: Sequence[Sequence[int]] = [range(len(costs))]
        if is_cut:
            places = calls_with_results(costs, gaps)
        prompt = self._above + self._legend(costs, is_cut, bool(calls))
        for omitted in _told_together(gaps, places):
            told = [in_order[place] for place in omitted]
            named = "; ".join(calls[one] for one in told if one in calls)
            prompt += self._count(omission(sum(missing[one] for one in told), named) + "\n")
        blocks, extra = self._blocks([costs[place] for one in places for place in one])
        return prompt + blocks, max(extra + FILLERS, 0)

    def _blocks(self, costs: Sequence[_Cost]) -> tuple[int, int]:
        """Tokens of the blocks in the order of the prompt, with the days above them, and about how
        many more they have as messages."""
        tokens, extra, latest, speaker = 0, 0, "", ""
        before: str | bool = False
        is_dated = has_several_days(cost.occurred_at for cost in costs)
        for cost in costs:
            tokens += cost.after_call if before == cost.parent_id else cost.alone
            extra += cost.extra if cost.speaker == speaker else cost.extra + MESSAGE - 1
            day = day_of(cost.occurred_at) if is_dated else ""
            if day and day != latest:
                tokens += self._count(day_text(day, latest) + "\n")
                latest = day
            before, speaker = cost.item_id, cost.speaker
        return tokens, extra

    def _legend(self, costs: Sequence[_Cost], is_cut: bool, names_calls: bool) -> int:
        """Tokens of the legend; 0 if it has nothing to explain."""
        sentences = [
            sentence
            for is_used, sentence in (
                (is_cut, OMITTED_CALLS if names_calls else OMISSIONS),
                (any(cost.has_fence for cost in costs), FENCES),
                (any(cost.has_message for cost in costs), MESSAGES),
                (any(cost.has_handle for cost in costs), HANDLES),
                (self._has_secret_above or any(cost.has_secret for cost in costs), SECRETS),
            )
            if is_used
        ]
        return self._count(OPENING + " ".join(sentences) + "\n") if sentences else 0

    def block_tokens(self, shown: Mapping[int, Rendition]) -> int:
        """Tokens of these blocks by themselves, results right after their calls."""
        return sum(self._entry(sequence, one)[2].after_call for sequence, one in shown.items())

    def _in_order(self, shown: Mapping[int, Rendition]) -> list[int]:
        return sorted(shown, key=self._place.__getitem__)

    def _entry(self, sequence: int, shown: Rendition) -> tuple[Rendition, PackEntry, _Cost]:
        """Made once per rendition. The rendition is kept with it, so that no other gets its
        identity."""
        held = self._entries.get(id(shown))
        if held is None:
            row = self.rows[sequence]
            made = self._make(row, shown)
            held = self._entries[id(shown)] = shown, made, _cost(made, self._count)
        return held


def _told_together(gaps: Sequence[int], places: Sequence[Sequence[int]]) -> Iterable[Sequence[int]]:
    """The gaps that one mark tells: those of a call and of the results below it."""
    calls = {place: one[0] for one in places if len(one) > 1 for place in one}
    told: dict[int, list[int]] = {}
    for place in gaps:
        told.setdefault(calls.get(place, place), []).append(place)
    return told.values()


def _key(shown: Mapping[int, Rendition]) -> frozenset[int]:
    """Each rendition is of one item and is made once, and is kept with what it costs."""
    return frozenset(map(id, shown.values()))


def _places(groups: Sequence[Group]) -> dict[int, tuple[int, bool, int]]:
    """The sort key of each item, by sequence: a result that was logged before its call comes after
    it."""
    places = {}
    for group in groups:
        for row in group.rows:
            at = max(row.sequence, group.rows[0].sequence)
            places[row.sequence] = at, row is not group.rows[0], row.sequence
    return places


def _cost(made: PackEntry, count: Count) -> _Cost:
    alone = count(block(made, None) + "\n")
    if made.answer:
        alone += count(f"result: ({made.answer})\n")
    after_call, extra, speaker = alone, 0 if made.author else -ROLE, made.kind.value
    if made.kind is ItemKind.TOOL_RESULT:
        # With the colon, which may be one token with the end of a label.
        after_call -= count(f"{label(made, None)}:") - count(f"{label_below_call(made)}:")
        speaker = made.item_id
    elif made.kind is ItemKind.TOOL_CALL:
        arguments = count(compact(made.arguments or {})) + count(made.tool_name or "")
        if made.arguments is None:
            arguments = count(made.text) + CALL_AS_TEXT
        extra, speaker = extra + arguments - count(made.text) + CALL_IDS, made.item_id
    elif made.kind is not ItemKind.AGENT_MSG:
        speaker = ItemKind.USER_TURN.value
    return _Cost(
        after_call,
        alone,
        extra,
        speaker,
        made.occurred_at,
        made.kind,
        made.item_id,
        made.parent_id,
        made.view in (PARTS, STUB, CURRENT),
        has_data(made.text),
        is_message(made.text),
        "[art:" in made.text,
        has_secret_mark(made),
    )


CALL_AS_TEXT = 12
"""Extra tokens of a call with its results that is written as text in a provider's messages."""
