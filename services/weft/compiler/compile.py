"""The compile: a pure function of (session view, policy, request) that runs the eight stages."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from weft import tokens
from weft.compiler.blocks import entry
from weft.compiler.candidates import find_candidates
from weft.compiler.closure import Group, close
from weft.compiler.deduplication import find_duplicates, words
from weft.compiler.forms import Form, whole
from weft.compiler.header import memory_header
from weft.compiler.packing import Packer, Wants
from weft.compiler.query import understand
from weft.compiler.rendering import RENDER_VERSION, render
from weft.compiler.scoring import Emphasis, score_groups
from weft.compiler.sensitivity import apply_floor
from weft.readmodel.rows import ItemRow, SessionView
from weft_schemas.compile import (
    BuildStats,
    CompileAudit,
    CompileRequest,
    ContextPack,
    DroppedItem,
    ManifestEntry,
    PackEntry,
    PendingItem,
)
from weft_schemas.ids import digest
from weft_schemas.items import ItemKind
from weft_schemas.policy import Phase

CODE_VERSION = "1"
"""Changes whenever the same view and request would give another selection."""


class Compilation(msgspec.Struct, frozen=True):
    """What a compile gives: the reply, and the audit event that can reproduce it."""

    pack: ContextPack
    audit: CompileAudit


@lru_cache(maxsize=16384)
def _count(text: str, encoding: str) -> int:
    return tokens.count(text, encoding)


WANTS = {
    Phase.ROUTE: Wants(atomic=60, facts=1.0, cheap=1.0),
    Phase.CALL: Wants(atomic=30, facts=6.0, cheap=1.0),
    Phase.INTERPRET: Wants(atomic=60, facts=1.0, cheap=1.0),
    Phase.ANSWER: Wants(atomic=700, facts=0.0, cheap=0.3),
}
EMPHASIS = {
    Phase.ROUTE: Emphasis(relevance=0.5, recency=1.0, half_life=8.0, exchange=0.3),
    Phase.CALL: Emphasis(relevance=0.3, recency=1.0, half_life=3.0),
    Phase.INTERPRET: Emphasis(relevance=0.3, recency=1.0, half_life=4.0, exchange=0.5),
    Phase.ANSWER: Emphasis(relevance=1.0, recency=0.1, half_life=4.0, exchange=0.5),
}


def compile_pack(
    view: SessionView,
    request: CompileRequest,
    *,
    key: bytes = b"",
    base: CompileAudit | None = None,
) -> Compilation:
    """The pack for a request over a view, and its audit event.

    `key` is the deployment's secret that fences are made with. `base` is the audit of the pack
    that `request.stable_from` names, null where it is unknown.
    """
    policy_version, policy = view.policy()
    if request.policy is not None:
        policy_version, policy = 0, request.policy
    wanted = request.budget if request.budget is not None else policy.budgets.of(request.phase)
    budget = max(wanted - request.reserve, 0)
    rule = policy.phases[request.phase]
    encoding = view.encoding

    def count(text: str) -> int:
        return _count(text, encoding)

    question = understand(request.query or _latest_words(view))
    candidates = find_candidates(view, question, policy.selection, budget)
    closed = close(view, candidates.rows)
    cleared = apply_floor(closed.groups, policy)
    dropped = [*closed.dropped, *cleared.dropped]
    scores = score_groups(
        cleared.groups,
        candidates.scores,
        question,
        rule,
        EMPHASIS[request.phase],
        candidates.latest_user,
    )
    pinned = frozenset(
        group.key
        for group in cleared.groups
        if group.key == candidates.latest_user or group.rows[0].kind is ItemKind.POLICY
    )
    groups, duplicates = _deduplicate(
        cleared.groups, scores, pinned, cleared.redacted, policy.selection.duplicate_threshold
    )
    dropped += duplicates
    header = memory_header(view, question, policy, budget, count)
    days = {str(row.metadata.get("occurred_at"))[:10] for group in groups for row in group.rows}

    def make(row: ItemRow, form: Form) -> PackEntry:
        section = "policy" if row.kind is ItemKind.POLICY else "context"
        if row.sequence == candidates.latest_user:
            section = "latest"
        return entry(row, form, policy, key, section, len(days) > 1)

    packer = Packer(
        groups, scores, pinned, cleared.redacted, WANTS[request.phase], make, count, header
    )
    entries = packer.pack(budget)
    shown = {held.item_id for held in entries}
    dropped += [
        DroppedItem(row.id, "budget")
        for group in groups
        for row in group.rows
        if row.id not in shown
    ]
    prompt = render(entries)
    included = tuple(held.item_id for held in entries if held.item_id)
    reasons: dict[str, int] = {}
    for drop in dropped:
        reasons[drop.reason] = reasons.get(drop.reason, 0) + 1
    sections: dict[str, int] = {}
    for held in entries:
        sections[held.section] = sections.get(held.section, 0) + count(held.text)
    stats = BuildStats(
        total_candidates=closed.total,
        included_count=len(included),
        dropped_count=len(dropped),
        dropped_reasons=reasons,
        dropped_items=tuple(dropped),
        deduplicated_count=len(duplicates),
        tokens_per_section=sections,
        dependency_closures=closed.added,
        included_items=included,
        prompt_tokens=tokens.count(prompt, encoding),
        budget=budget,
        encoding=encoding,
        notes=() if entries else ("the budget is too small for any item",),
    )
    pending = tuple(PendingItem(row.id, row.sequence) for row in view.pending())
    pack_id = digest(
        "pack",
        view.tenant,
        view.session,
        view.sequence,
        policy_version,
        msgspec.json.encode(request, order="deterministic"),
        prompt,
    )[:20]
    pack = ContextPack(
        id=pack_id,
        tenant=view.tenant,
        session=view.session,
        phase=request.phase,
        prompt=prompt,
        entries=tuple(entries),
        stats=stats,
        sequence=view.sequence,
        policy_version=policy_version,
        digest=hashlib.sha256(prompt.encode()).hexdigest(),
        pending=pending,
        render_version=RENDER_VERSION,
        code_version=CODE_VERSION,
    )
    audit = CompileAudit(
        id=pack_id,
        tenant=view.tenant,
        session=view.session,
        request=request,
        sequence=view.sequence,
        policy_version=policy_version,
        manifest=tuple(
            ManifestEntry(e.item_id, e.sequence, e.sequence, e.view, digest(e.text))
            for e in entries
        ),
        digest=pack.digest,
        render_version=RENDER_VERSION,
        code_version=CODE_VERSION,
        encoding=encoding,
        pending=pending,
    )
    return Compilation(pack, audit)


def _latest_words(view: SessionView) -> str:
    users = view.of_kind(ItemKind.USER_TURN, 1)
    return users[0].text if users else ""


def _deduplicate(
    groups: Sequence[Group],
    scores: dict[int, float],
    pinned: frozenset[int],
    redacted: frozenset[int],
    threshold: float,
) -> tuple[list[Group], list[DroppedItem]]:
    kept = [group for group in groups if group.key in pinned]
    rest = sorted(
        (group for group in groups if group.key not in pinned), key=lambda group: -group.key
    )
    order = [*kept, *rest]
    sets = [
        words(" ".join(whole(row, row.sequence in redacted).text for row in group.rows))
        for group in order
    ]
    repeated = find_duplicates(sets, threshold)
    drops = [
        DroppedItem(row.id, "duplicate", f"repeats {order[other].rows[0].id}")
        for index, other in repeated.items()
        for row in order[index].rows
    ]
    gone = {order[index].key for index in repeated}
    return [group for group in groups if group.key not in gone], drops
