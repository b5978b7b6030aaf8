"""What a selection chooses from."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import Objective
from weft.compiler.rendering.cost import PromptCost
from weft.compiler.renditions.item_renditions import ItemRenditions
from weft.compiler.selection.part_scores import Scores


class Choice(msgspec.Struct, frozen=True):
    """The possible renditions and the rules for choosing among them."""

    groups: tuple[Group, ...]
    scores: Scores
    renditions: Mapping[int, ItemRenditions]
    """By sequence."""
    repeats: Mapping[int, int]
    """Results that are shown as a reference, each with the later one that it refers to."""
    pinned: tuple[Group, ...]
    """The most important first, policies last."""
    current_turn: tuple[Group, ...]
    """Calls since the latest user turn, with their results if there are any; those whose last
    result is the newest come first."""
    interrupted: Group | None
    """The newest call before the latest user turn, if the agent has said nothing since."""
    last_fetched: tuple[Group, ...]
    """Calls with results between the two latest user turns, newest first, if the agent has called
    nothing since."""
    said: Group | None
    """What the agent said last since the latest user turn, if it called tools since then."""
    calls_ahead: tuple[Group, ...]
    """Calls whose results an agent that works through a list acts on next."""
    objective: Objective
    asked: Collection[str]
    """Fields whose values a next call may take."""
    cost: PromptCost
    budget: int
    is_all: bool
    """Whether the session has no other groups."""
    names_calls: bool = False
    """Whether the marks name calls that are left out; a call may follow that repeats one."""
    made_good: frozenset[int] = frozenset()
    """Keys of the failed calls since the latest user turn that a later one made good."""
    unresolved: tuple[Group, ...] = ()
    """Failed calls that are named first, and before an answer alone."""
    older_calls: tuple[Group, ...] = ()
    """Calls that are no candidates and may be named, newest first."""
    withheld: Collection[int] = ()
    """Items that are redacted or flagged: if they are left out, the marks do not name them."""
    field_sources: tuple[Group, ...] = ()
    """Calls whose results give values for fields that the newest failure names, newest first."""
    has_query: bool = False
    """Whether the caller gave a query, which may differ from the latest user turn."""
