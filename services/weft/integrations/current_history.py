"""A compiled context as the framework's own history has it now.

The log keeps what happened. A framework may have lost an answer since, as after a crash, and what
it was is then left out: the model is asked for it again.
"""

from __future__ import annotations

import msgspec

import weft
from weft_schemas.items import ItemKind

_ASKS = (ItemKind.USER_TURN, ItemKind.TOOL_CALL, ItemKind.TOOL_RESULT)
"""Items that a model answers."""


def as_it_is(pack: weft.Pack, published: weft.PublishedMessages) -> weft.Pack:
    """The pack for the history that was published as `published`. Answers at its end that the
    history does not contain are left out, and the work before them stays."""
    if published.spooled:  # it had no ids yet
        return pack
    given = frozenset(published.ids)
    asked = [one.sequence for one in pack.entries if one.kind in _ASKS and one.item_id]
    last = max(asked, default=0)
    entries = tuple(
        one
        for one in pack.entries
        if not asked
        or one.kind is not ItemKind.AGENT_MSG
        or one.sequence < last
        or one.item_id in given
    )
    return msgspec.structs.replace(pack, entries=entries)
