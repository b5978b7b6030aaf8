"""Calls that an agent makes together. None of their results is newer than another: where the last
of them does not fit, each gets its share of the room, and what one does not need goes to the larger
ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import MAX_CALLS_TOGETHER, MIN_ALIKE, MIN_FAILED_TOKENS
from weft.compiler.rendering.cost import Shown
from weft.compiler.renditions.item_renditions import ItemRenditions
from weft.compiler.renditions.rendition import Rendition
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.fill import fill
from weft.terms import words


def called_together(current_turn: Sequence[Group]) -> Sequence[Group]:
    """The call with the newest result and those that were made together with it: before any of them
    had its result. `current_turn` is newest first."""
    overlapping = [group for group in current_turn if group.last >= current_turn[0].key]
    results = (row.sequence for group in overlapping for row in group.rows[1:])
    first = min(results, default=inf)
    return [group for group in overlapping if group.key < first]


def odd_one(groups: Sequence[Group]) -> Group | None:
    """Of calls whose results say the same but for their values, the one whose results say something
    else: the one package that customs hold. None if there is no such call."""
    if not MIN_ALIKE < len(groups) <= MAX_CALLS_TOGETHER:
        return None
    said = [_plain_words(group) for group in groups]
    (most, times), *others = Counter(said).most_common()
    is_one = times == len(groups) - 1 and most
    return groups[said.index(others[0][0])] if is_one else None


def _plain_words(group: Group) -> frozenset[str]:
    """The words of a call's results that are no values."""
    return frozenset(filter(str.isalpha, words(" ".join(row.whole for row in group.rows[1:]))))


def with_shares(choice: Choice, shown: Shown, groups: Sequence[Group], limit: int) -> Shown:
    """With each of the groups whole where its share of `limit` holds it, else in its shortest
    complete form, else its best parts; first with the one that says something else than the others,
    whole if the others keep a little."""
    rest = sorted(groups, key=lambda group: (group.whole_tokens, -group.key))
    odd = odd_one(groups)
    if odd is not None:
        rest.remove(odd)
        shown = _with_group(choice, shown, odd, limit - MIN_FAILED_TOKENS * len(rest))
    for at, group in enumerate(rest):
        used = choice.cost.exact(shown)
        room = max(limit - used, 0) // (len(rest) - at)
        least = None if odd is None else _said_instead(choice, group, odd)
        shown = _with_group(choice, shown, group, used + room, least)
    return shown


def _said_instead(choice: Choice, group: Group, odd: Group) -> Shown:
    """The parts of a call's results with words that the odd one's do not have."""
    instead = _plain_words(group) - _plain_words(odd)
    found = dict[int, Rendition]()
    for row in group.rows:
        leaves = () if row is group.rows[0] or row.parts is None else row.parts.leaves
        parts = [
            number
            for number, leaf in enumerate(leaves)
            if not instead.isdisjoint(words(row.readable[leaf.start : leaf.end]))
        ]
        found[row.sequence] = choice.renditions[row.sequence].choose(parts)
    return found


def _with_group(
    choice: Choice, shown: Shown, group: Group, limit: int, least: Shown | None = None
) -> Shown:
    """With a group whole, in its shortest complete form, or its best parts besides `least`."""
    for form in (ItemRenditions.whole, ItemRenditions.compact):
        more = {
            **shown,
            **{row.sequence: form(choice.renditions[row.sequence]) for row in group.rows},
        }
        if choice.cost.fits(more, limit):
            return more
    if least is not None and choice.cost.fits({**shown, **least}, choice.budget):
        shown = {**shown, **least}
    return fill(choice, shown, [group], limit)
