"""Repeated results: the same call with the same result later on. The earlier result becomes a
reference. Nothing else is left out because it is similar."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from weft.compiler.candidates.closure import Group
from weft.compiler.rendering.cost import Shown
from weft.compiler.renditions.rendition import REFERENCE, stub_rendition
from weft.compiler.selection.choice import Choice
from weft.readmodel.rows import ItemRow

MIN_CHARACTERS = 200
"""Characters of the shortest result that a reference replaces."""


def repeated_results(groups: Sequence[Group], redacted: Collection[int]) -> dict[int, int]:
    """The results that a later group repeats exactly, each with the newest that does, by sequence.
    Masked results never count as equal, because masks hide what differs. Of calls that were made
    together, a later one may have been answered earlier: then both stay, since which of them stands
    above depends on whether the prompt is cut."""
    newest: dict[tuple[str, int], list[ItemRow]] = {}
    found: dict[int, int] = {}
    for group in reversed(groups):
        if not group.is_call or any(row.sequence in redacted for row in group.rows):
            continue
        asked = group.call_signature
        for row in group.rows[1:]:
            if row.size_of_whole < MIN_CHARACTERS:
                continue
            alike = newest.setdefault((asked, row.size_of_whole), [])
            later = (one for one in alike if one.sequence > row.sequence)
            repetitions = [one.sequence for one in later if one.whole == row.whole]
            if repetitions:
                found[row.sequence] = max(repetitions)
            else:
                alike.append(row)
    return found


def outdated_by_repetition(groups: Sequence[Group], redacted: Collection[int]) -> frozenset[int]:
    """The keys of calls that were made again later, and were answered: what they say
    of a state may no longer hold. If it failed, what was read before is the newest that is known.
    Masked calls never count as equal."""
    again: set[str] = set()
    found: set[int] = set()
    for group in reversed(groups):
        if len(group.rows) < 2 or not group.is_call or group.rows[0].sequence in redacted:
            continue
        asked = group.call_signature
        if asked in again:
            found.add(group.key)
        elif not any(row.failed for row in group.rows[1:]):
            again.add(asked)
    return frozenset(found)


def without_dangling(choice: Choice, shown: Shown) -> Shown:
    """With a stub in place of each reference to a result that is left out; where there is no room
    for that, without its group."""
    for group in choice.groups:
        for row in group.rows[1:]:
            one = shown.get(row.sequence)
            if one is None or one.view != REFERENCE or choice.repeats[row.sequence] in shown:
                continue
            shown = {**shown, row.sequence: stub_rendition(row)}
            if not choice.cost.fits(shown, choice.budget):
                left = {row.sequence for row in group.rows}
                shown = {at: one for at, one in shown.items() if at not in left}
    return shown
