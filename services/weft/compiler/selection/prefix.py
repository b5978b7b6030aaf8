"""Prompts that a provider's cache knows: what an earlier pack showed stays as it was, and new items
are appended."""

from __future__ import annotations

import msgspec
from collections.abc import Sequence

from weft.compiler.candidates.closure import Group
from weft.compiler.ledger import Ledger
from weft.compiler.rendering.cost import Shown
from weft.compiler.selection.select import Choice, select
from weft.readmodel.rows import SessionView
from weft_schemas.compile import CompileAudit


class Prefix(msgspec.Struct, frozen=True):
    """What of the base can stay."""

    shown: Shown = {}
    """By sequence, in the base's order."""
    reason: str = ""
    """Why nothing can, empty where something does."""


def keep(
    view: SessionView,
    base: CompileAudit | None,
    policy_version: int,
    groups: Sequence[Group],
    redacted: frozenset[int],
) -> Prefix:
    return Prefix({}, "todo")


def select_stable(choice: Choice, kept: Shown, ledger: Ledger) -> Shown:
    return select(choice, ledger)
