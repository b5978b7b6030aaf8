"""The steps of a selection, in order: they say what brought an item into the prompt. Nothing is
computed for them that the selection does not need anyway."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import msgspec

from weft.compiler.candidates.closure import Group
from weft.compiler.rendering.cost import Shown
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.fill import additions_to, growing
from weft.compiler.selection.offers import Addition


class Rule(StrEnum):
    """Why a step shows what it adds."""

    WHOLE_SESSION = "whole_session"
    KEPT = "kept"
    PINNED = "pinned"
    CURRENT_TURN = "current_turn"
    LAST_FETCHED = "last_fetched"
    WRITTEN = "written"
    DIALOGUE = "dialogue"
    ANSWERING = "answering"
    WORTH = "worth"
    ROOM_LEFT = "room_left"


class Filling(msgspec.Struct, frozen=True, dict=True, eq=False):
    """What a step filled the budget from, by value per token."""

    choice: Choice
    base: Shown
    """What was shown before."""
    groups: Sequence[Group]
    budget: int

    @cached_property
    def competing(self) -> frozenset[int]:
        """The keys of the groups of which more could be shown."""
        return frozenset(one.key for one in growing(self.choice, self.base, self.groups))

    @cached_property
    def best(self) -> Mapping[int, Addition]:
        """What of each group is worth most, by its key, in order of worth; without those behind all
        that would fill the budget several times."""
        found: dict[int, Addition] = {}
        additions, _ = additions_to(self.choice, self.base, self.groups, self.budget)
        for one in additions:
            found.setdefault(one.group.key, one)
        return found


class Step(NamedTuple):
    """A rule, and everything that is shown once it was applied."""

    rule: Rule
    shown: Shown
    filling: Filling | None = None
    """Of the rule `WORTH`."""


class Selected(NamedTuple):
    """The result of a selection."""

    choice: Choice
    """As it was chosen from, with the marks that name what is left out."""
    shown: Shown
    steps: Sequence[Step]
    """The way to what is shown; some of what they show may have been taken back."""
