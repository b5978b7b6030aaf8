"""The newest messages between the user and the agent: what they agreed on, in few tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import DIALOGUE_SHARE
from weft.compiler.rendering.cost import Shown
from weft.compiler.selection.choice import Choice
from weft_schemas.items import ItemKind


def with_dialogue(choice: Choice, shown: Shown) -> Shown:
    """With the newest messages, whole, until all messages that are shown take their share of the
    budget. Not for a query, which may be about anything said before."""
    if choice.has_query:
        return shown
    messages = list(_messages(choice.groups))
    tokens = choice.cost.block_tokens
    room = choice.budget * DIALOGUE_SHARE
    room -= sum(tokens({one.key: shown[one.key]}) for one in messages if one.key in shown)
    for message in messages:
        more = {message.key: choice.shapes[message.key].whole()}
        if message.key in shown or tokens(more) > room:
            continue
        if choice.cost.fits({**shown, **more}, choice.budget):
            shown = {**shown, **more}
            room -= tokens(more)
    return shown


def _messages(groups: Sequence[Group]) -> Iterator[Group]:
    """The user's turns and what each of them answers, newest first. What an agent says between its
    calls is for itself."""
    is_answered = True
    for group in reversed(groups):
        kind = group.rows[0].kind
        if kind is ItemKind.USER_TURN or (kind is ItemKind.AGENT_MSG and is_answered):
            yield group
        is_answered = kind is ItemKind.USER_TURN
