"""What an item lacked that is not in the prompt. Nothing is told of a text that the prompt may not
show: neither its words nor its size."""

from __future__ import annotations

from typing import NamedTuple

from weft.compiler.candidates.closure import Group, dependency_closure
from weft.compiler.candidates.flags import flags_among
from weft.compiler.candidates.sensitivity import withhold
from weft.compiler.compile import Trace
from weft.compiler.explaining.worth import standing_in, standing_of, words_shared
from weft.compiler.ledger import Ledger
from weft.compiler.selection.alike import without_alike
from weft.compiler.selection.announcements import lone_announcements
from weft.compiler.selection.steps import Rule
from weft.readmodel.rows import ItemRow
from weft_schemas.compile import DroppedItem

BUDGET = "budget"


class Lack(NamedTuple):
    """Why an item is not shown."""

    sentence: str
    rank: int = 0
    """By worth per token, from 1, if it competed for the budget."""
    ranked: int = 0


def lack_of(trace: Trace, drop: DroppedItem) -> Lack:
    """What a candidate lacked that was dropped."""
    if drop.reason == BUDGET:
        for group in trace.state.groups:
            for row in group.rows:
                if row.id == drop.item_id:
                    return _no_room(trace, group, row)
    return Lack(
        _SENTENCES.get(drop.reason, "It was dropped: {}.").format(drop.detail or drop.reason)
    )


_SENTENCES = {
    "sensitivity": "It is at or above the sensitivity floor: {}.",
    "flagged": "A guard flagged it, and the policy drops such items: {}.",
    "orphan": "It has no call that the prompt could show: {}.",
    "superseded": "Something newer replaces it: {}.",
    "kind_limit": "The policy's rule for this phase leaves it out: {}.",
    "pending": "It has no text yet: {}.",
}


def _no_room(trace: Trace, group: Group, row: ItemRow) -> Lack:
    """Why a group that might have been shown has no room."""
    left = max(trace.choice.budget - trace.made.pack.stats.prompt_tokens, 0)
    named = ""
    if group.key in trace.choice.cost.named:
        named = f" A mark names {'it' if row.sequence == group.key else 'its call'}."
    if any(one.key == group.key for one in trace.choice.pinned):
        return Lack(f"It is pinned, but not even its beginning fits {_budget(trace)}.{named}")
    if group.key in lone_announcements(trace.choice, trace.shown):
        return Lack("It only announces calls, none of which is shown.")
    found = [standing_in(one, group) for one in trace.steps]
    standing = next((one for one in reversed(found) if one is not None), None)
    if standing is None:
        return Lack(f"{_unoffered(trace, group)}{named}")
    said = standing_of(trace, standing, row)
    least = round(standing.best.tokens) if standing.best is not None else 0
    if least > left:
        said += f" It takes at least {least:,} tokens; of {_budget(trace)}, {left:,} are left."
    else:
        said += f" What ranks before it fills {_budget(trace)} but for {left:,}."
    return Lack(said + named, standing.rank, standing.ranked)


def _unoffered(trace: Trace, group: Group) -> str:
    """Why a group was not even offered for the rest of the budget."""
    choice = trace.choice
    fewer = {one.key for one in without_alike(choice).groups}
    if group.key not in fewer:
        return "Newer calls of the same tool with the same outcome stand for it."
    if trace.steps[0].rule == Rule.KEPT:
        return "The prompt goes on from an earlier one (`stable_from`), which did not show it."
    return f"What every prompt shows and the current turn take all of {_budget(trace)}."


def _budget(trace: Trace) -> str:
    return f"the budget of {trace.choice.budget:,} tokens"


def absent(trace: Trace, row: ItemRow) -> Lack:
    """Why an item was not even a candidate."""
    newest = _newest_considered(trace)
    said = f"It is no candidate: it is not pinned, and not one of the newest {newest:,} items."
    if trace.state.request.query and not _may_be_shown(trace, row):
        return Lack(said)
    shared = words_shared(trace, row)
    if shared.startswith(" Words"):
        shared += " Others match better."
    return Lack(said + shared)


def _may_be_shown(trace: Trace, row: ItemRow) -> bool:
    """Whether a prompt might show its own text, by the stages that decide it for candidates."""
    view = trace.state.view
    groups = dependency_closure(view, [row], Ledger())
    shown, redacted = withhold(groups, flags_among(view, groups), trace.state.policy, Ledger())
    left = {one.sequence for group in shown for one in group.rows}
    return row.sequence in left - redacted


def _newest_considered(trace: Trace) -> int:
    """How many of the newest items were all candidates."""
    count = trace.state.view.item_count()
    ordinals = {row.ordinal for row in trace.state.candidates.rows}
    newest = 0
    while count - 1 - newest in ordinals:
        newest += 1
    return newest
