"""The current turn, chosen by bisection, is what trying each result in turn gives."""

from __future__ import annotations

import json
from collections.abc import Sequence
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from tests.choosing import choice_of

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import (
    COUNTED_TO,
    CURRENT_TURN_SHARE,
    CUT_SHARE,
    OTHER_CALLS_SHARE,
    RESULT_TRIES,
    SHORT_CALL,
    SHORT_SHARE,
)
from weft.compiler.rendering import cost
from weft.compiler.rendering.cost import Shown
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.current_turn import MAX_SAVED, _with_parts, with_current_turn
from weft.compiler.selection.next_entry import with_next_entry
from weft.compiler.selection.select import pins_of
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

SIZES = (0, 1, 1, 3, 8, 8, 30, 120)
"""Records of a result."""


def result(number: int, records: int, is_indented: bool) -> str:
    held = [
        {"id": f"R{number:03}-{at}", "name": f"item {number} {at}", "price": at * 7.5}
        for at in range(records)
    ]
    return json.dumps(held, indent=4 if is_indented else None)


def session(sizes: list[tuple[int, bool, bool]]) -> list[ContextItem]:
    """A user turn, then calls; of each the records of its result, whether it is indented, and
    whether it has been answered."""
    items = [ContextItem("u", ItemKind.USER_TURN, "List them all, page by page, please.")]
    for number, (records, is_indented, is_answered) in enumerate(sizes):
        named = {"tool_name": "list", "call_id": f"c{number}", "arguments": {"page": number}}
        items.append(ContextItem(f"c{number}", ItemKind.TOOL_CALL, "", "u", metadata=named))
        if is_answered:
            given = {"tool_name": "list", "call_id": f"c{number}"}
            text = result(number, records, is_indented)
            items.append(
                ContextItem(f"r{number}", ItemKind.TOOL_RESULT, text, f"c{number}", metadata=given)
            )
    return items


calls = st.lists(st.tuples(st.sampled_from(SIZES), st.booleans(), st.integers(0, 9)), max_size=30)


@given(calls, st.sampled_from((150, 400, 1_000, 3_000, 10_000)))
def test_it_is_what_trying_each_in_turn_gives(
    drawn: list[tuple[int, bool, int]], budget: int
) -> None:
    sizes = [(records, indented, answered > 0) for records, indented, answered in drawn]
    choice = choice_of(session(sizes), budget, Phase.INTERPRET)
    pinned = pins_of(choice)
    assert with_current_turn(choice, pinned) == each_in_turn(choice, pinned)


def test_what_is_sent_is_counted_a_few_times_however_many_calls_there_were() -> None:
    counts = []
    for calls in (20, 80, 320):
        sizes = [(SIZES[3 + number % 4], bool(number % 2), True) for number in range(calls)]
        choice = choice_of(session(sizes), 100 * calls, Phase.INTERPRET)
        with patch.object(cost, "message_tokens", wraps=cost.message_tokens) as counted:
            with_current_turn(choice, pins_of(choice))
        counts.append(counted.call_count)
    assert max(counts) < 30


def each_in_turn(choice: Choice, pinned: Shown) -> Shown:
    """The definition, in as many steps as there are results."""
    shown, is_cut = with_stubs(choice, pinned, choice.budget, is_answered=False), False
    used = choice.cost.exact(shown)
    limit = min(choice.budget, used + int(choice.budget * CURRENT_TURN_SHARE))
    tries, waiting = 0, [group for group in choice.current_turn if group.key not in shown]
    is_tight = sum(group.whole_tokens for group in waiting) > limit - used
    newest = newest_result(choice)
    for group in waiting:
        renditions = [choice.renditions[row.sequence] for row in group.rows]
        saves_room = is_tight and newest is not None and group.last < newest.last
        ways = (
            [
                item_renditions.compact() if number and saves_room else item_renditions.whole()
                for number, item_renditions in enumerate(renditions)
            ],
            [item_renditions.compact() for item_renditions in renditions],
        )
        tokens = sum(
            max(item_renditions.row.whole_tokens, 0)
            for item_renditions in renditions
            if item_renditions.fixed is None
        )
        compact = {
            item_renditions.row.sequence: item_renditions.compact()
            for item_renditions in renditions
        }
        room = limit - choice.cost.exact(shown)
        if is_cut and (
            tries == RESULT_TRIES or choice.cost.block_tokens(compact) > room + MAX_SAVED
        ):
            continue
        for way in ways if tokens <= limit * COUNTED_TO else ():
            more = {
                item_renditions.row.sequence: made
                for item_renditions, made in zip(renditions, way, strict=True)
            }
            if choice.cost.fits({**shown, **more}, limit):
                shown.update(more)
                break
        else:
            if is_cut:
                tries += tokens <= limit * COUNTED_TO
                continue
            reserved = int(room * (1 - CUT_SHARE)) if group is not waiting[-1] else 0
            shown, is_cut = _with_parts(choice, shown, group, limit, reserved), True
    before = choice.cost.exact(shown)
    shown = with_next_entry(choice, shown)
    limit += choice.cost.exact(shown) - before + int(choice.budget * OTHER_CALLS_SHARE)
    shown = with_stubs(choice, shown, min(choice.budget, limit))
    limit = choice.cost.exact(shown) + int(choice.budget * SHORT_SHARE)
    short = [
        group
        for group in choice.current_turn
        if sum(max(row.whole_tokens, 0) for row in group.rows) <= SHORT_CALL
    ]
    return with_stubs(choice, shown, min(choice.budget, limit), groups=short)


def newest_result(choice: Choice) -> Group | None:
    """The call with the newest result, of those that say anything if there are any."""
    answered = [group for group in choice.current_turn if len(group.rows) > 1]
    says = [group for group in answered if any(row.whole.strip() for row in group.rows[1:])]
    return next(iter(says or answered), None)


def with_stubs(
    choice: Choice,
    shown: Shown,
    limit: int,
    is_answered: bool = True,
    groups: Sequence[Group] | None = None,
) -> Shown:
    shown, added = dict(shown), []
    for group in choice.current_turn if groups is None else groups:
        if group.key in shown or (len(group.rows) > 1) != is_answered:
            continue
        more = {row.sequence: choice.renditions[row.sequence].choose(()) for row in group.rows}
        if choice.cost.size({**shown, **more}) > limit:
            break
        shown.update(more)
        added.append(group)
    while added and choice.cost.exact(shown) > choice.budget:
        for row in added.pop().rows:
            del shown[row.sequence]
    return shown


def test_a_single_result_that_does_not_fit_gets_all_of_its_half() -> None:
    """Or a search would be shown without anything that it found, beside older results."""
    legs = [f"leg {leg} at {leg}0:15, gate {leg * 3}, on time" for leg in range(6)]
    found = [{"id": f"F{at}", "legs": legs} for at in range(20)]
    named = {"tool_name": "search", "call_id": "c"}
    items = [
        ContextItem("u", ItemKind.USER_TURN, "Which of them is the best?"),
        ContextItem("c", ItemKind.TOOL_CALL, "", "u", metadata={**named, "arguments": {}}),
        ContextItem("r", ItemKind.TOOL_RESULT, json.dumps(found), "c", metadata=named),
    ]
    choice = choice_of(items, 420)
    shown = with_current_turn(choice, pins_of(choice))
    assert legs[-1] in list(shown.values())[-1].text
