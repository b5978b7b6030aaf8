"""What the agent fetched last before the user spoke: their turn is most often about it."""

from __future__ import annotations

from weft.compiler.profiles import LAST_FETCHED_SHARE, WITHOUT_LAST_FETCHED
from weft.compiler.rendering.cost import Shown
from weft.compiler.selection.choice import Choice


def with_last_fetched(choice: Choice, shown: Shown) -> Shown:
    """With those of the calls between the two latest user turns that fit their share whole, newest
    first. Long results are left to what is chosen part by part."""
    room = int(max(choice.budget - WITHOUT_LAST_FETCHED, 0) * LAST_FETCHED_SHARE)
    limit = min(choice.budget, choice.cost.exact(shown) + room)
    for group in choice.last_fetched if room else ():
        if group.key in shown or sum(max(row.whole_tokens, 0) for row in group.rows) > room:
            continue
        whole = {row.sequence: choice.shapes[row.sequence].whole() for row in group.rows}
        if choice.cost.fits({**shown, **whole}, limit):
            shown = {**shown, **whole}
    return shown
