"""Stage 6: what selection chooses from: the renditions of each item, with their costs."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from operator import attrgetter

from msgspec import structs

from weft.compiler.candidates.closure import Group
from weft.compiler.candidates.older_calls import older_calls
from weft.compiler.candidates.tool_rules import rule_of
from weft.compiler.profiles import (
    POINTING,
    POINTING_BEFORE_ANSWER,
    PROFILES,
    READ_AGAIN_FACTOR,
    SHORT_RESULT,
    SHORT_RESULT_SHARE,
)
from weft.compiler.ranking.changed_reads import changed_since
from weft.compiler.ranking.copied_fields import copied_fields
from weft.compiler.ranking.failed_fields import field_places, fields_of_failure
from weft.compiler.ranking.focus import (
    focus_by_result,
    later_call_values,
    latest_values,
    next_values,
    values_named_by_user,
)
from weft.compiler.ranking.links import linking_parts
from weft.compiler.ranking.listed_passes import Pass, listed_passes
from weft.compiler.ranking.loops import Stretch, next_entries
from weft.compiler.ranking.places import lines_above, parts_with, pointed_lines, quoted_lines
from weft.compiler.ranking.question import open_question
from weft.compiler.ranking.second_pass import calls_ahead, second_pass
from weft.compiler.ranking.value_weights import asked_fields
from weft.compiler.ranking.work_places import work_places
from weft.compiler.ranking.written_parts import written_parts
from weft.compiler.rendering.cost import PromptCost, Shown
from weft.compiler.rendering.counting import counter
from weft.compiler.rendering.header import entries_above
from weft.compiler.rendering.item_entries import groups_by_sequence, item_entry
from weft.compiler.rendering.tools import TOOLS, parameter_names
from weft.compiler.renditions.item_renditions import ItemRenditions, required_parts
from weft.compiler.renditions.rendition import part_count, reference_rendition, summary_rendition
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.left_out import most_names
from weft.compiler.selection.part_scores import Scores
from weft.compiler.selection.pins import beginnings_of_all
from weft.compiler.selection.repeats import outdated_by_repetition, repeated_results
from weft.compiler.selection.unresolved import made_good_calls, unresolved_calls
from weft.compiler.state import State
from weft.readmodel.rows import ItemRow
from weft_schemas.items import ItemKind
from weft_schemas.policy import most_shown


def choice_of(state: State) -> Choice:
    """The renditions to choose from, with the cost of each."""
    request, rows = state.request, [row for group in state.groups for row in group.rows]
    profile = PROFILES[request.phase]
    pinned = state.pinned()
    repeats = _repeats(state, pinned)
    newer = _newer(state)
    current_turn = _newest_first(newer)
    said = [group for group in newer if group.rows[0].kind is ItemKind.AGENT_MSG]
    counts_values = bool(profile.objective.values)
    old = outdated_by_repetition(state.groups, state.redacted)
    passes = tuple(listed_passes(state.groups)) if counts_values else ()
    ahead = _ahead(state, passes) if counts_values else {}
    coming = calls_ahead(state.groups, passes, ahead, state.budget)
    renditions = {
        row.sequence: _item_renditions(state, row, group.rows[0], repeats)
        for group in state.groups
        for row in group.rows
    }
    renditions |= _complete(renditions, _outcomes_in_short(current_turn, state.budget))
    with_fields = _with_fields(state, renditions)
    renditions |= with_fields
    is_all = state.ledger.total >= state.view.item_count()
    older = _older_calls(state, counts_values, is_all)
    return Choice(
        groups=state.groups,
        scores=_scores(state, rows, ahead, counts_values, old),
        renditions=renditions,
        repeats=repeats,
        pinned=tuple(pinned),
        current_turn=current_turn,
        interrupted=_interrupted(state),
        last_fetched=() if current_turn else _last_fetched(state),
        said=said[0] if said and current_turn else None,
        calls_ahead=tuple(one for one in coming if one.key not in old),
        field_sources=tuple(_holding(state.groups, with_fields)),
        objective=profile.objective,
        asked=_asked(state, rows) if counts_values else frozenset(),
        cost=_cost(state, rows, beginnings_of_all(pinned, renditions)),
        budget=state.budget,
        is_all=is_all,
        names_calls=counts_values,
        unresolved=unresolved_calls(sorted((*older, *state.groups), key=attrgetter("key"))),
        made_good=made_good_calls(newer[::-1]),
        older_calls=older if counts_values else (),
        withheld=state.redacted | state.flags.keys(),
        has_query=bool(state.query),
    )


def _asked(state: State, rows: Sequence[ItemRow]) -> frozenset[str]:
    """The fields whose values a next call may take."""
    named = asked_fields(rows, parameter_names(state.view, state.request))
    return named | copied_fields(state.groups)


def _repeats(state: State, pinned: Sequence[Group]) -> Mapping[int, int]:
    """Results that a later one repeats, without pinned ones."""
    own = {row.sequence for group in pinned for row in group.rows}
    found = repeated_results(state.groups, state.redacted)
    return {at: later for at, later in found.items() if at not in own}


def _outcomes_in_short(current_turn: Sequence[Group], budget: int) -> list[ItemRow]:
    """The results of the newest call that has any, if they are short."""
    answered = (group for group in current_turn if len(group.rows) > 1)
    most = min(SHORT_RESULT, budget * SHORT_RESULT_SHARE)
    return [
        row for group in islice(answered, 1) for row in group.rows[1:] if row.whole_tokens <= most
    ]


def _complete(
    renditions: Mapping[int, ItemRenditions], rows: Sequence[ItemRow]
) -> dict[int, ItemRenditions]:
    """The renditions of these items with all parts required, where there is a choice."""
    return {
        row.sequence: structs.replace(one, required=frozenset(range(part_count(row))))
        for row in rows
        if (one := renditions[row.sequence]).fixed is None and not one.redacted
    }


def _with_fields(
    state: State, renditions: Mapping[int, ItemRenditions]
) -> dict[int, ItemRenditions]:
    """The renditions of the results that have a field which the newest failure names: it is shown
    with any part of them."""
    found = {}
    for at, places in field_places(state.groups, fields_of_failure(state.groups)).items():
        one = renditions[at]
        if one.fixed is None and not one.redacted:
            parts = frozenset({0})
            if one.row.parts is not None:
                parts = parts_with(one.row.parts.leaves, places)
            found[at] = structs.replace(one, required=one.required | parts)
    return found


def _holding(groups: Sequence[Group], results: Container[int]) -> Iterator[Group]:
    """The groups with any of these results, newest first."""
    for group in reversed(groups):
        if any(row.sequence in results for row in group.rows):
            yield group


def _older_calls(state: State, names_calls: bool, is_all: bool) -> tuple[Group, ...]:
    """Calls that are no candidates: to be named, or to see whether a failed one was made again."""
    has_failed = any(row.failed for group in state.groups for row in group.rows)
    if is_all or not (names_calls or has_failed):
        return ()
    most = most_names(state.budget)
    return older_calls(state.view, state.groups, state.policy, state.request.phase, most)


def _newer(state: State) -> list[Group]:
    """The groups since the user's latest turn, newest first."""
    since = state.candidates.latest_user or 0
    return [group for group in reversed(state.groups) if group.key > since]


def _interrupted(state: State) -> Group | None:
    """The newest call before the user's latest turn to which the agent has said nothing."""
    found, latest = state.candidates, state.candidates.latest_user or 0
    between = [group for group in state.groups if found.open_since < group.key < latest]
    calls = [group for group in between if group.is_call]
    return calls[-1] if calls else None


def _last_fetched(state: State) -> tuple[Group, ...]:
    """The calls between the user's two latest turns, newest first."""
    latest = state.candidates.latest_user or 0
    found: list[Group] = []
    for group in reversed(state.groups):
        if group.key < latest and group.rows[0].kind is ItemKind.USER_TURN:
            break
        if group.key < latest:
            found.append(group)
    return _newest_first(found)


def _newest_first(groups: Sequence[Group]) -> tuple[Group, ...]:
    """The calls among these, in the order in which their last results came."""
    calls = (group for group in groups if group.is_call)
    return tuple(sorted(calls, key=lambda group: group.last, reverse=True))


def _cost(state: State, rows: Sequence[ItemRow], pinned: Shown) -> PromptCost:
    """The cost of prompts with the tools above, if there is room for a little of each pin beside
    them: a model that is told what it may call, and not what the user wants, makes that up."""
    count = counter(state.view.encoding)
    entry = partial(
        item_entry,
        state.policy,
        state.key,
        (state.view.tenant, state.view.session),
        state.candidates.latest_user,
        groups_by_sequence(state.groups),
        state.flags,
        withheld=state.returned_reasoning.withheld,
    )
    above = entries_above(state, rows, count)
    cost = PromptCost(above, state.groups, entry, count)
    others = [one for one in above if one.section != TOOLS]
    if len(others) == len(above) or cost.fits(pinned, state.budget):
        return cost
    return PromptCost(others, state.groups, entry, count)


def _scores(
    state: State,
    rows: Sequence[ItemRow],
    ahead: Mapping[int, Sequence[Stretch]],
    counts_values: bool,
    old: Container[int],
) -> Scores:
    newest = POINTING if counts_values else POINTING_BEFORE_ANSWER
    named, pointed = values_named_by_user(state.groups), pointed_lines(state.groups, newest)
    return Scores(
        _current_scores(state, old),
        _passages(state, rows),
        # The terms that choose among an item's parts.
        open_question(state.groups, state.query) or frozenset(state.question.terms),
        ahead,
        focus_by_result(state.groups) if counts_values else {},
        named,
        latest_values(state.groups),
        later_call_values(state.groups),
        next_values(state.groups) if counts_values else {},
        pointed,
        quoted_lines(state.groups, newest),
        linking_parts(state.groups, named),
        work_places(state.groups) if counts_values else {},
        written_parts(state.groups) if counts_values else {},
        lines_above(state.groups, pointed) if pointed else {},
    )


def _current_scores(state: State, old: Container[int]) -> Mapping[int, float]:
    """The scores, less for what was read again later, and for what was read in an earlier turn and
    changed since. An agent knows of this turn's results what it does with them."""
    latest = state.candidates.latest_user or 0
    changed = changed_since(state.groups, state.redacted).items()
    outdated = {at: share for at, share in changed if at < latest}
    outdated.update((group.key, 1.0) for group in state.groups if group.key in old)
    return {
        at: score * (1 - (1 - READ_AGAIN_FACTOR) * outdated.get(at, 0.0))
        for at, score in state.scores.items()
    }


def _ahead(state: State, passes: Sequence[Pass]) -> Mapping[int, Sequence[Stretch]]:
    """What a loop takes next, by sequence."""
    return next_entries(state.groups) or second_pass(state.groups, passes, state.budget)


def _passages(state: State, rows: Sequence[ItemRow]) -> Mapping[int, Mapping[int, float]]:
    """The scores of passages that answer the query, for texts that are shown unchanged."""
    found = state.candidates.passages
    others = {row.sequence for row in rows if row.outdated}.intersection(found)
    return {at: one for at, one in found.items() if at not in others} if others else found


def _item_renditions(
    state: State, row: ItemRow, call: ItemRow, repeats: Container[int]
) -> ItemRenditions:
    redacted = row.sequence in state.redacted
    if row.kind is ItemKind.TOOL_RESULT and not redacted and row.is_complete:
        rules = state.policy.firewall
        limit = most_shown(rules, rule_of(row, call, rules))
        if limit is not None and row.whole_tokens > limit and row.envelope is not None:
            return ItemRenditions(row, False, summary_rendition(row), frozenset(), is_limited=True)
        if row.sequence in repeats:
            return ItemRenditions(row, False, reference_rendition(), frozenset())
    required = frozenset[int]() if redacted else required_parts(row)
    return ItemRenditions(row, redacted, None, required)
