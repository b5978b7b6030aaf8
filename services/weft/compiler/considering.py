"""Stages 1 to 6 put together: from a request to the groups that may be shown, each with its
score, and the reason for every item that may not."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from weft.compiler.candidates import find_candidates
from weft.compiler.closure import Closed, Group, close
from weft.compiler.limits import apply_limits, pool, showable
from weft.compiler.phases import LOOKS
from weft.compiler.query import Question, understand
from weft.compiler.repetition import drop_repetitions
from weft.compiler.scoring import score_groups
from weft.compiler.sensitivity import apply_floor
from weft.compiler.stability import Kept, keep
from weft.readmodel.rows import ItemRow, SessionView
from weft_schemas.compile import CompileAudit, CompileRequest, DroppedItem
from weft_schemas.items import ItemKind
from weft_schemas.policy import ContextPolicy

SITUATION = 4
"""Newest items whose calls say what is going on."""
SITUATION_TEXT = 600
"""Characters read of each."""


class Considered(msgspec.Struct, frozen=True):
    """What a compile chooses from."""

    question: Question
    latest_user: int | None
    """Sequence of the latest user turn."""
    closed: Closed
    redacted: frozenset[int]
    allowed: tuple[Group, ...]
    """All that the phase and the sensitivity floor let through."""
    groups: tuple[Group, ...]
    """The best of these, without repetitions, within the limits of their kinds."""
    afresh: tuple[Group, ...]
    """Of `groups` those that a compile without a base would choose from."""
    scores: dict[int, float]
    """By group key, of all that is allowed."""
    pinned: frozenset[int]
    kept: Kept
    dropped: tuple[DroppedItem, ...]

    @property
    def current(self) -> tuple[Group, ...]:
        """Calls with their results since the latest user turn, newest first."""
        since = self.latest_user or 0
        return tuple(
            group for group in reversed(self.groups) if group.key > since and len(group.rows) > 1
        )


def consider(
    view: SessionView,
    request: CompileRequest,
    version: int,
    policy: ContextPolicy,
    base: CompileAudit | None,
    budget: int,
) -> Considered:
    """The groups that may be shown. `version` is the policy's; `base` as in `compile_pack`."""
    rule, look = policy.phases[request.phase], LOOKS[request.phase]
    situation = [] if request.query else _situation(view)
    latest = "\n".join(row.text[:SITUATION_TEXT] for row in situation)
    question = understand(request.query or latest)
    candidates = find_candidates(view, question, policy.selection, look.reach, budget)
    closed = close(view, [*candidates.rows, *_shown_before(view, base)])
    cleared = apply_floor(closed.groups, policy)
    allowed = showable(cleared.groups, request.phase, rule)
    pinned = _pinned(allowed.groups, candidates.latest_user)
    kept = keep(view, base, version, allowed.groups, cleared.redacted)
    emphasis = look.emphasis if request.query else look.unasked or look.emphasis
    # The latest turn stands anyway: that it matches itself says nothing about what is beside it.
    asking = {row.sequence for row in situation if row.kind is ItemKind.USER_TURN}
    matches = {at: score for at, score in candidates.scores.items() if at not in asking}
    scores = score_groups(allowed.groups, matches, question, rule, emphasis, candidates.latest_user)
    supply = int(look.wants.supply * budget) + look.wants.supply_least
    settled = pinned | kept.forms.keys()
    best = pool(allowed.groups, scores, settled, supply)
    afresh = pool(allowed.groups, scores, pinned, supply) if kept.forms else best
    threshold = policy.selection.duplicate_threshold
    distinct = drop_repetitions(best, settled, cleared.redacted, threshold)
    limited = apply_limits(distinct.groups, scores, settled, request.phase, rule)
    dropped = (*closed.dropped, *cleared.dropped, *allowed.dropped)
    return Considered(
        question,
        candidates.latest_user,
        closed,
        cleared.redacted,
        allowed.groups,
        limited.groups,
        _among(limited.groups, afresh),
        scores,
        pinned,
        kept,
        (*dropped, *distinct.dropped, *limited.dropped),
    )


def _among(groups: Sequence[Group], wanted: Sequence[Group]) -> tuple[Group, ...]:
    keys = {group.key for group in wanted}
    return tuple(group for group in groups if group.key in keys)


def _shown_before(view: SessionView, base: CompileAudit | None) -> list[ItemRow]:
    return view.rows([one.sequence for one in base.manifest if one.item_id]) if base else []


def _situation(view: SessionView) -> list[ItemRow]:
    """What was last said and called: it stands for the query where there is none."""
    said = [*view.of_kind(ItemKind.USER_TURN, 1), *view.of_kind(ItemKind.AGENT_MSG, 1)]
    called = [row for row in view.recent(SITUATION) if row.kind is ItemKind.TOOL_CALL]
    return [*said, *called]


def _pinned(groups: Sequence[Group], latest_user: int | None) -> frozenset[int]:
    return frozenset(
        group.key
        for group in groups
        if group.key == latest_user or group.rows[0].kind is ItemKind.POLICY
    )
