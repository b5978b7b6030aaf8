"""What the stages of one compile share."""

from __future__ import annotations

import msgspec

from weft.compiler.candidates.closure import Group
from weft.compiler.candidates.facts import NO_STATEMENTS, Statements
from weft.compiler.candidates.find import Candidates
from weft.compiler.candidates.flags import Flags
from weft.compiler.ledger import Ledger
from weft.compiler.ranking.question import Question
from weft.compiler.rendering.reasoning import ReturnedReasoning
from weft.compiler.selection.prefix import Prefix
from weft.readmodel.view import SessionView
from weft_schemas.compile import CompileAudit, CompileRequest
from weft_schemas.items import ItemKind
from weft_schemas.policy import ContextPolicy


def asked_budget(request: CompileRequest, policy: ContextPolicy) -> int:
    """Tokens of the prompt and of what `reserve` is for."""
    return policy.budgets.of(request.phase) if request.budget is None else request.budget


class State(msgspec.Struct):
    """Each stage reads and changes it."""

    view: SessionView
    request: CompileRequest
    policy: ContextPolicy
    policy_version: int
    budget: int
    """Tokens that the prompt may take."""
    query: str
    """The request's; empty if the user said the same last."""
    question: Question
    key: bytes
    """The deployment's secret, with which fences are made."""
    base: CompileAudit | None
    """The audit of the pack that `request.stable_from` names."""
    ledger: Ledger
    candidates: Candidates
    groups: tuple[Group, ...] = ()
    """The groups not dropped yet."""
    redacted: frozenset[int] = frozenset()
    """Sequences of the items with the redaction hook's text."""
    scores: dict[int, float] = {}
    """By group key."""
    prefix: Prefix = Prefix()
    """The part of the base that stays."""
    flags: Flags = {}
    statements: Statements = NO_STATEMENTS
    """The newest statement of each fact."""
    returned_reasoning: ReturnedReasoning = ReturnedReasoning()
    """Reasoning that goes back to its provider; its tokens are taken off the budget."""

    def pinned(self) -> list[Group]:
        """The pinned groups, the most important first; policies last, the newest first."""
        of = {row.sequence: group for group in self.groups for row in group.rows}
        pinned = {of[at].key: of[at] for at in self.candidates.pinned if at in of}
        for group in reversed(self.groups):
            if group.rows[0].kind is ItemKind.POLICY:
                pinned.setdefault(group.key, group)
        return list(pinned.values())
