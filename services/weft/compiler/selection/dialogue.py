"""The user's newest turns, each with the message that it answers: what was agreed on, corrected and
ruled out, in few tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import CHAT, DIALOGUE, MIN_ROOM
from weft.compiler.rendering.cost import Shown
from weft.compiler.selection.budget import nearest_that_fits
from weft.compiler.selection.choice import Choice
from weft_schemas.items import ItemKind


def with_dialogue(choice: Choice, shown: Shown) -> Shown:
    """With the user's turns, newest first, until they take their share of the budget besides those
    that are pinned. A turn stands alone where what it answers is too long. Not for a query, which
    may be about anything said before."""
    if choice.has_query:
        return shown
    has_calls = any(group.is_call for group in choice.groups)
    share, without = DIALOGUE if has_calls else CHAT
    room = max(choice.budget - without, 0) * share
    taken: list[Shown] = []
    for turn, answered in turns(choice.groups):
        if room < MIN_ROOM:
            break
        for messages in ((turn, *answered), (turn,)):
            more = {
                one.key: choice.renditions[one.key].whole()
                for one in messages
                if one.key not in shown
            }
            tokens = choice.cost.block_tokens(more) if more else 0
            if tokens <= room:
                taken.append(more)
                room -= tokens
                break

    def with_newest(count: int) -> Shown:
        return dict(chain(shown.items(), *(more.items() for more in taken[:count])))

    most = len(taken)
    return with_newest(
        nearest_that_fits(
            most, lambda count: choice.cost.fits(with_newest(count), choice.budget), most
        )
    )


def turns(groups: Sequence[Group]) -> Iterator[tuple[Group, tuple[Group, ...]]]:
    """The user's turns, newest first, each with the agent's message right before it or before the
    documents of its message. What an agent says between its calls is for itself."""
    said = (one for one in reversed(groups) if one.rows[0].kind is not ItemKind.DOC_SNIPPET)
    for turn, before in pairwise((*said, None)):
        if turn is not None and turn.rows[0].kind is ItemKind.USER_TURN:
            is_answer = before is not None and before.rows[0].kind is ItemKind.AGENT_MSG
            yield turn, ((before,) if before is not None and is_answer else ())
