"""Stage 7: chooses renditions of the groups that may be shown. First pinned items, then the current
turn, the rest of pins that were cut, the newest messages, and everything else by value per
token.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.compiler.candidates.closure import Group
from weft.compiler.ledger import Ledger
from weft.compiler.profiles import (
    LATEST_SHARE,
    MIN_PIN_TOKENS,
    MIN_PINS_SHARE,
    NAMED_CALL,
    OUTCOME_TRIES,
    PINS_ALONE,
    PINS_SHARE,
)
from weft.compiler.rendering.cost import Shown
from weft.compiler.renditions.rendition import whole_rendition
from weft.compiler.selection.alike import without_alike
from weft.compiler.selection.announcements import lone_announcements
from weft.compiler.selection.answering import with_answering
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.current_turn import (
    excess_with_outcome,
    newest_result_fit,
    with_current_turn,
    with_left_calls,
)
from weft.compiler.selection.dialogue import with_dialogue
from weft.compiler.selection.fill import fill, with_newest_whole
from weft.compiler.selection.last_fetched import with_last_fetched
from weft.compiler.selection.left_out import room_for_names, with_names
from weft.compiler.selection.pins import note_pins, pinned_renditions, with_pins_grown
from weft.compiler.selection.steps import Filling, Rule, Selected, Step
from weft.compiler.selection.written import with_written
from weft_schemas.items import ItemKind


def select(choice: Choice, ledger: Ledger) -> Selected:
    """Everything whole if it fits; otherwise pins, the current turn and the most valuable parts,
    and marks that name what is left out."""
    everything = everything_whole(choice)
    if everything is not None:
        return Selected(choice, everything, [Step(Rule.WHOLE_SESSION, everything)])
    room = room_for_names(choice)
    fewer = without_alike(choice) if room else choice
    room += NAMED_CALL * (len(choice.groups) - len(fewer.groups))
    steps = selected_afresh(fewer, pins_of(fewer), room)
    chosen = steps[-1].shown
    lone = lone_announcements(choice, chosen)
    shown = {at: one for at, one in chosen.items() if at not in lone}
    if room:
        choice = with_names(choice, shown, room=room)
    if room or len(shown) < len(chosen):
        rest = [group for group in fewer.groups if group.key not in lone]
        steps.append(filled(choice, shown, rest, choice.budget))
        shown = steps[-1].shown
    rest = [group for group in choice.groups if group.key not in lone]
    shown = with_newest_whole(choice, shown, rest)
    steps.append(Step(Rule.ROOM_LEFT, shown))
    choice = _with_unresolved_named(choice, shown)
    note_pins(choice, shown, ledger)
    return Selected(choice, shown, steps)


def _with_unresolved_named(choice: Choice, shown: Shown) -> Choice:
    """The choice with marks that name the calls that failed for good, if marks name no others and
    something of the budget is left."""
    if choice.names_calls or not choice.unresolved:
        return choice
    left = choice.budget - choice.cost.size(shown)
    return with_names(choice, shown) if left >= NAMED_CALL else choice


def selected_afresh(choice: Choice, pinned: Shown, room: int = 0) -> list[Step]:
    """The steps to the pinned items, the current turn, the newest messages and the most valuable
    parts, which leave `room` tokens. The last one shows them all."""
    steps = _steps(choice, pinned, room)
    newest = choice.groups[-1] if choice.groups else None
    if (
        newest is None
        or newest.key in steps[-1].shown
        or newest.rows[0].kind is not ItemKind.AGENT_MSG
    ):
        return steps
    # No mark stands behind the last item, so the beginning of this one tells that there is more.
    more = {**pinned, newest.key: choice.renditions[newest.key].beginning(MIN_PIN_TOKENS)}
    return _steps(choice, more, room) if choice.cost.fits(more, choice.budget) else steps


def _steps(choice: Choice, pinned: Shown, room: int) -> list[Step]:
    current = with_pins_grown(choice, with_current_turn(choice, pinned))
    fetched = with_last_fetched(choice, current)
    current_turn = {group.key for group in choice.current_turn}
    earlier = [group for group in choice.groups if group.key not in current_turn]
    written = with_written(choice, fetched, earlier)
    dialogue = with_dialogue(choice, written)
    answering = with_answering(choice, dialogue)
    limit = choice.budget - room
    by_worth = filled(choice, answering, choice.groups, limit)
    return [
        Step(Rule.PINNED, pinned),
        Step(Rule.CURRENT_TURN, current),
        Step(Rule.LAST_FETCHED, fetched),
        Step(Rule.WRITTEN, written),
        Step(Rule.DIALOGUE, dialogue),
        Step(Rule.ANSWERING, answering),
        by_worth,
        Step(Rule.CURRENT_TURN, with_left_calls(choice, by_worth.shown, limit)),
    ]


def filled(choice: Choice, base: Shown, groups: Sequence[Group], budget: int) -> Step:
    """The step that fills a budget beside `base` with the most valuable parts of these groups."""
    shown = fill(choice, base, groups, budget)
    return Step(Rule.WORTH, shown, Filling(choice, base, groups, budget))


def pins_of(choice: Choice) -> Shown:
    """The renditions of the pinned groups. The latest user turn takes more than its share, but no
    room that the newest result, or at least its outcome, needs."""
    has_results = any(len(group.rows) > 1 for group in choice.current_turn)
    share = PINS_SHARE if has_results or choice.has_query else PINS_ALONE
    pinned = pinned_renditions(choice.pinned, choice.renditions, choice.cost, choice.budget, share)
    latest = choice.pinned[0].rows[0] if choice.pinned else None
    if latest is None or latest.kind is not ItemKind.USER_TURN or choice.has_query:
        return pinned
    if has_results and not newest_result_fit(choice, pinned):
        return _beside_outcome(choice, pinned, share)
    if pinned.get(latest.sequence) == choice.renditions[latest.sequence].whole():
        return pinned
    more = pinned_renditions(
        choice.pinned, choice.renditions, choice.cost, choice.budget, share, LATEST_SHARE
    )
    if not has_results:
        return more
    return pinned if newest_result_fit(choice, more) < newest_result_fit(choice, pinned) else more


def _beside_outcome(choice: Choice, pinned: Shown, share: float) -> Shown:
    """Fewer or shorter pins, if these then leave room for the outcome of the newest result: a model
    that does not see that a call failed makes it again."""
    fewer, room = pinned, choice.cost.exact(pinned)
    for _ in range(OUTCOME_TRIES):
        excess = excess_with_outcome(choice, fewer)
        if excess <= 0:
            return fewer
        room = min(room, choice.cost.exact(fewer)) - excess
        if room < choice.budget * MIN_PINS_SHARE:
            break
        fewer = pinned_renditions(choice.pinned, choice.renditions, choice.cost, room, share)
    return pinned


def everything_whole(choice: Choice) -> Shown | None:
    """All groups with every item whole; None if they do not fit or the session has others."""
    rows = [row for group in choice.groups for row in group.rows]
    if not choice.is_all or sum(group.whole_tokens for group in choice.groups) > choice.budget:
        return None
    shown: Shown = {}
    for row in rows:
        item_renditions = choice.renditions[row.sequence]
        limited = item_renditions.fixed if item_renditions.is_limited else None
        shown[row.sequence] = limited or whole_rendition(row, item_renditions.redacted)
    return shown if choice.cost.exact(shown) <= choice.budget else None
