"""The items in every prompt: the task, the open question and the message that it answers, pinned
items, and policies. They are whole unless they alone would take more than half of the budget. What
is cut then grows into what the current turn leaves."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from weft.compiler.candidates.closure import Group
from weft.compiler.ledger import Ledger
from weft.compiler.profiles import MIN_PIN_TOKENS, POLICY_SHARE
from weft.compiler.rendering.cost import PromptCost, Shown
from weft.compiler.renditions.item_renditions import ItemRenditions
from weft.compiler.renditions.rendition import Rendition, part_count
from weft.compiler.selection.budget import longest_beginning
from weft.compiler.selection.choice import Choice
from weft_schemas.items import ItemKind


def pinned_renditions(
    groups: Sequence[Group],
    renditions: Mapping[int, ItemRenditions],
    cost: PromptCost,
    budget: int,
    share: float,
    latest_share: float = 0.0,
) -> Shown:
    """Renditions of the pinned groups, which come in order of importance, policies last. First each
    gets a little, as far as the budget goes, calls after all others, since the little of a call is
    more; then each is shown whole if it fits the pins' share, the first also if it fits
    `latest_share`, else with as many parts as fit. So a larger budget never leaves one out. The
    little of what the agent said last comes on top of that share."""
    shown: Shown = {}
    for group in sorted(groups, key=lambda one: one.is_call):
        least = _whole_or_beginning(group, renditions)
        if not cost.fits({**shown, **least}, budget):
            break
        shown.update(least)
    if groups and not shown:
        shown.update(_lengthened(shown, groups[0], renditions, cost, budget))
    held = [group for group in groups if group.key in shown]
    said = cost.block_tokens(_last_message(held, renditions))
    limit = max(min(int(budget * share) + said, budget), cost.exact(shown) if shown else 0)
    for group in held:
        whole = _whole(group, renditions)
        most = max(limit, int(budget * latest_share)) if group is groups[0] else limit
        if cost.fits({**shown, **whole}, most):
            shown.update(whole)
    rest = [group for group in held if shown[group.key] != _whole(group, renditions)[group.key]]
    for place, group in enumerate(rest):
        used = cost.exact(shown)
        shown.update(
            _lengthened(
                shown, group, renditions, cost, used + (limit - used) // (len(rest) - place)
            )
        )
    return shown


def with_pins_grown(choice: Choice, shown: Shown, kept: Collection[int] = ()) -> Shown:
    """With the cut pins, newest first, whole or longer, as far as there is room: without what the
    user asks for and answers, other things say little. Not long policies, nor the pins of `kept`,
    which stay as they are. Not for a query, which may be about anything."""
    if choice.has_query:
        return shown
    for group in sorted(choice.pinned, key=lambda one: one.key, reverse=True):
        row, whole = group.rows[-1], _whole(group, choice.renditions)
        is_cut = row.sequence in shown and shown[row.sequence] != whole[row.sequence]
        if not is_cut or row.sequence in kept:
            continue
        if row.kind is ItemKind.POLICY and row.whole_tokens > choice.budget * POLICY_SHARE:
            continue
        if choice.cost.fits({**shown, **whole}, choice.budget):
            shown = {**shown, **whole}
            continue
        more = _lengthened(shown, group, choice.renditions, choice.cost, choice.budget)
        if more and len(more[row.sequence].text) > len(shown[row.sequence].text):
            shown = {**shown, **more}
    return shown


def note_pins(choice: Choice, shown: Shown, ledger: Ledger) -> None:
    """Notes in the ledger which pins are not shown, or not whole."""
    for group in choice.pinned:
        row = group.rows[0]
        named = f"{row.kind.value} {row.id}"
        if row.sequence not in shown:
            ledger.note(f"{named} does not fit the budget")
        elif any(shown.get(at) != form for at, form in _whole(group, choice.renditions).items()):
            ledger.note(f"{named} is shortened to fit the budget")


def beginnings_of_all(groups: Sequence[Group], renditions: Mapping[int, ItemRenditions]) -> Shown:
    """A little of each of these groups."""
    shown: Shown = {}
    for group in groups:
        shown.update(_whole_or_beginning(group, renditions))
    return shown


def _last_message(held: Sequence[Group], renditions: Mapping[int, ItemRenditions]) -> Shown:
    """A little of what the agent said after all the others; nothing if the last one is no message
    of the agent."""
    last = max(held, key=lambda group: group.key, default=None)
    if last is None or len(held) < 2 or last.rows[0].kind is not ItemKind.AGENT_MSG:
        return {}
    return _whole_or_beginning(last, renditions)


def _whole(group: Group, renditions: Mapping[int, ItemRenditions]) -> Shown:
    return {row.sequence: renditions[row.sequence].whole() for row in group.rows}


def _whole_or_beginning(group: Group, renditions: Mapping[int, ItemRenditions]) -> Shown:
    """The whole group if it is short, else the beginning of its text."""
    sequence = group.rows[-1].sequence
    return {
        **_stubs_of_others(group, renditions),
        sequence: renditions[sequence].beginning(MIN_PIN_TOKENS),
    }


def _stubs_of_others(
    group: Group, renditions: Mapping[int, ItemRenditions]
) -> dict[int, Rendition]:
    return {row.sequence: renditions[row.sequence].choose(()) for row in group.rows[:-1]}


def _lengthened(
    shown: Shown,
    group: Group,
    renditions: Mapping[int, ItemRenditions],
    cost: PromptCost,
    limit: int,
) -> Shown:
    """The group with as many of its first parts as fit into `limit`; if not even one fits, with the
    beginning of its text."""
    row, others = group.rows[-1], _stubs_of_others(group, renditions)
    low, high, best = 0, part_count(row), dict[int, Rendition]()
    while low < high:
        middle = (low + high + 1) // 2
        more = {**others, row.sequence: _first_parts(renditions[row.sequence], middle)}
        if cost.size({**shown, **more}) <= limit and cost.exact({**shown, **more}) <= limit:
            low, best = middle, more
        else:
            high = middle - 1
    return best or longest_beginning(shown, others, renditions[row.sequence], cost, limit) or {}


def _first_parts(item_renditions: ItemRenditions, count: int) -> Rendition:
    """The first parts of an item; of a long one also the last, where people often say what they
    want."""
    total = part_count(item_renditions.row)
    if 2 < count < total:
        return item_renditions.choose([*range(count - 1), total - 1])
    return item_renditions.choose(range(count))
