"""What brought an item into the prompt: the first step of the selection that shows it, and the
claim that the item has there."""

from __future__ import annotations

from typing import NamedTuple

from weft.compiler.candidates.closure import Group
from weft.compiler.candidates.find import Claim
from weft.compiler.compile import Trace
from weft.compiler.explaining.worth import standing_in, standing_of
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.steps import Rule, Step
from weft.readmodel.rows import ItemRow
from weft_schemas.items import ItemKind


class Reason(NamedTuple):
    """Why an item is shown."""

    rule: str
    """One of `weft_schemas.compile.RULES`."""
    sentence: str
    rank: int = 0
    """By worth per token, from 1, if that brought it in."""
    ranked: int = 0
    """How many were ranked."""


_CLAIMS = {
    Claim.LATEST: "{} is the user's latest message, which every prompt shows.",
    Claim.TASK: "{} is the user's first message, the task, which every prompt shows.",
    Claim.ANSWERED: "{} is the message that the user's latest one answers.",
    Claim.UNANSWERED: "{} is a message of the user that the agent has not answered yet.",
    Claim.WORDLESS: "{} belongs to the user's latest message, which has no words of its own.",
    Claim.PUBLISHER: "{} was pinned by its publisher.",
    Claim.REQUEST: "{} was pinned by the request.",
    Claim.GOES_ON: "{} is the agent's latest message, from which this step goes on.",
}
POLICY, LATEST_ITEM = "policy", "latest_item"
SAID, LIST, LINK, FIELD, FAILED = "said", "list", "link", "field", "failed"


def reason_of(trace: Trace, group: Group, row: ItemRow) -> Reason:
    """Why the prompt shows this item of a group that it shows."""
    step = next((one for one in trace.steps if group.key in one.shown), None)
    if step is None:
        raise LookupError(f"no step of the selection shows item {row.id!r}")
    budget = trace.choice.budget
    match step.rule:
        case Rule.WHOLE_SESSION:
            said = f"All that may be shown of the session fits the budget of {budget:,} tokens."
            return Reason(step.rule, said)
        case Rule.KEPT:
            said = "The prompt goes on from an earlier one (`stable_from`), which showed it."
            return Reason(step.rule, said)
        case Rule.PINNED:
            return _pinned(trace, group, row) or _of_current_turn(trace.choice, group, row)
        case Rule.CURRENT_TURN:
            return _of_current_turn(trace.choice, group, row)
        case Rule.LAST_FETCHED:
            said = "It was fetched right before the user's latest message."
            return Reason(step.rule, said)
        case Rule.WRITTEN:
            said = "The agent wrote it into a file before the user's latest message."
            return Reason(step.rule, said)
        case Rule.DIALOGUE:
            return Reason(step.rule, _dialogue(row))
        case Rule.ANSWERING:
            return Reason(step.rule, _answering(row))
        case Rule.WORTH:
            return _by_worth(trace, group, row, step)
        case Rule.ROOM_LEFT:
            said = "Room was left, and it is among the newest items that still fit whole."
            return Reason(step.rule, said)


def _pinned(trace: Trace, group: Group, row: ItemRow) -> Reason | None:
    """Why a pinned group is shown; None if it has no claim."""
    pinned = trace.state.candidates.pinned
    owner = row if row.sequence in pinned else None
    owner = owner or next((one for one in group.rows if one.sequence in pinned), None)
    if owner is not None:
        claim = pinned[owner.sequence]
        subject = "It" if owner is row else f"It belongs to {owner.id}. That"
        return Reason(claim, _CLAIMS[claim].format(subject))
    if row.kind is ItemKind.POLICY:
        return Reason(POLICY, "It is a policy item; every prompt shows the newest of them.")
    return None


def _of_current_turn(choice: Choice, group: Group, row: ItemRow) -> Reason:
    """Why what the current turn needs is shown."""
    calls = [one.key for one in choice.current_turn]
    if group.key in calls:
        newest = len(group.rows) > 1 and group.key == calls[0]
        what = "the newest call" if newest else "a call"
        whose = what if row is group.rows[0] else f"a result of {what}"
        return Reason(Rule.CURRENT_TURN, f"It is {whose} since the user's latest message.")
    if choice.said is not None and group.key == choice.said.key:
        return Reason(SAID, "It is what the agent said last since the user's latest message.")
    ahead = [one.key for one in choice.calls_ahead]
    if group.key in ahead or any(one.sequence in choice.scores.ahead for one in group.rows):
        said = "The agent is working through a list, and this says what comes next in it."
        return Reason(LIST, said)
    if any(one.sequence in choice.scores.links for one in group.rows):
        said = "It alone states an id that the user named beside one of the newest result."
        return Reason(LINK, said)
    if group.key in [one.key for one in choice.field_sources]:
        said = "It has a value for a field that the newest failure names."
        return Reason(FIELD, said)
    if choice.interrupted is not None and group.key == choice.interrupted.key:
        said = "It failed right before the user's latest message, and was not made good since."
        return Reason(FAILED, said)
    return Reason(LATEST_ITEM, "It is the latest item of the session.")


def _dialogue(row: ItemRow) -> str:
    if row.kind is ItemKind.USER_TURN:
        return "It is one of the user's newest messages."
    return "It is what one of the user's newest messages answers."


def _answering(row: ItemRow) -> str:
    if row.kind is ItemKind.TOOL_RESULT:
        return "It is short and has rare words of the user's latest message."
    return "It belongs to a short result that has rare words of the user's latest message."


def _by_worth(trace: Trace, group: Group, row: ItemRow, step: Step) -> Reason:
    standing = standing_in(step, group)
    assert standing is not None
    said = standing_of(trace, standing, row)
    return Reason(step.rule, said, standing.rank, standing.ranked)
