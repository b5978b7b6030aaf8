"""The compile: a pure function of (session view, policy, request) that runs the eight stages."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from weft.compiler.auditing import audit_of, manifest_of
from weft.compiler.blocks import entry
from weft.compiler.candidates import LABEL, Candidates, find_candidates
from weft.compiler.closure import Closed, Group, close
from weft.compiler.counting import Count, counter
from weft.compiler.forms import Form
from weft.compiler.header import frozen_header, memory_header
from weft.compiler.limits import apply_limits, pool, showable
from weft.compiler.phases import LOOKS
from weft.compiler.query import Question, understand
from weft.compiler.rendering import RENDER_VERSION, render
from weft.compiler.repetition import drop_repetitions
from weft.compiler.scoring import score_groups
from weft.compiler.selecting import Choice, select
from weft.compiler.sensitivity import apply_floor
from weft.compiler.sheet import Sheet, Weighed
from weft.compiler.stability import keep, select_stable
from weft.compiler.tools import parameter_names, tools_entry
from weft.compiler.worth import asked_fields
from weft.readmodel.rows import ItemRow, SessionView
from weft_schemas.compile import (
    BuildStats,
    CompileAudit,
    CompileRequest,
    ContextPack,
    DroppedItem,
    PackEntry,
    PendingItem,
)
from weft_schemas.ids import digest
from weft_schemas.items import ItemKind
from weft_schemas.policy import ContextPolicy

CODE_VERSION = "1"
"""Changes whenever the same view and request would give another selection."""

SITUATION = 4
"""Newest items whose calls say what is going on."""
SITUATION_TEXT = 600
"""Characters read of each."""


class Compilation(msgspec.Struct, frozen=True):
    """What a compile gives: the reply, the audit event that can reproduce it, and what each
    candidate scored, by item id."""

    pack: ContextPack
    audit: CompileAudit
    scores: dict[str, float] = {}


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
    version, policy = view.policy() if request.policy is None else (0, request.policy)
    count = counter(view.encoding)
    budget = budget_of(request, policy)
    rule = policy.phases[request.phase]
    look = LOOKS[request.phase]

    situation = [] if request.query else _situation(view)
    latest = "\n".join(row.text[:SITUATION_TEXT] for row in situation)
    question = understand(request.query or latest)
    candidates = find_candidates(view, question, policy.selection, look.reach, budget)
    closed = close(view, [*candidates.rows, *_shown_before(view, base)])
    cleared = apply_floor(closed.groups, policy)
    allowed = showable(cleared.groups, request.phase, rule)
    pinned = _pinned(allowed.groups, candidates)
    kept = keep(view, base, version, allowed.groups, cleared.redacted)
    emphasis = look.emphasis if request.query else look.unasked or look.emphasis
    # The latest turn stands anyway: that it matches itself says nothing about what is beside it.
    asking = {row.sequence for row in situation if row.kind is ItemKind.USER_TURN}
    matches = {at: score for at, score in candidates.scores.items() if at not in asking}
    scores = score_groups(allowed.groups, matches, question, rule, emphasis, candidates.latest_user)
    supply = int(look.wants.supply * budget) + look.wants.supply_least
    settled = pinned | kept.forms.keys()
    best = pool(allowed.groups, scores, settled, supply)
    threshold = policy.selection.duplicate_threshold
    distinct = drop_repetitions(best, settled, cleared.redacted, threshold)
    limited = apply_limits(distinct.groups, scores, settled, request.phase, rule)

    rows = {row.sequence: row for group in limited.groups for row in group.rows}
    told = frozenset[str]() if look.repeats else _told(rows.values(), budget, policy)
    frozen = base if kept.forms else None
    sheet = Sheet(
        _above(view, request, question, policy, budget, count, frozen, told),
        rows,
        _maker(policy, key, candidates.latest_user),
        count,
    )
    choice = Choice(
        limited.groups,
        scores,
        pinned,
        cleared.redacted,
        look.wants,
        asked_fields(rows.values(), parameter_names(view, request)),
        sheet,
        budget,
        view.encoding,
        tuple(_current(limited.groups, candidates)),
        look.current,
    )
    selected = select_stable(choice, kept.forms) if kept.forms else select(choice)
    weighed = sheet.weigh(selected.forms)
    entries = weighed.entries
    dropped = [*closed.dropped, *cleared.dropped, *allowed.dropped]
    dropped += [*distinct.dropped, *limited.dropped]
    dropped += _unselected(allowed.groups, entries, dropped)
    notes = selected.notes
    if request.stable_from is not None and not kept.forms:
        notes = (*notes, f"compiled fresh: {kept.reason or 'nothing of the base can stay'}")
    if request.as_of is not None and request.as_of > view.sequence:
        notes = (*notes, f"as of {request.as_of}: what is read ends at {view.sequence}")
    stats = _stats(closed, weighed, dropped, notes, budget, view.encoding, count)
    pack = _pack(view, request, version, entries, stats)
    manifest = manifest_of(entries, rows, selected.forms)
    return Compilation(pack, audit_of(pack, request, manifest), _named(allowed.groups, scores))


def budget_of(request: CompileRequest, policy: ContextPolicy) -> int:
    """Tokens that the prompt may take."""
    wanted = policy.budgets.of(request.phase) if request.budget is None else request.budget
    return max(wanted - request.reserve, 0)


def _shown_before(view: SessionView, base: CompileAudit | None) -> list[ItemRow]:
    return view.rows([one.sequence for one in base.manifest if one.item_id]) if base else []


def _situation(view: SessionView) -> list[ItemRow]:
    """What was last said and called: it stands for the query where there is none."""
    said = [*view.of_kind(ItemKind.USER_TURN, 1), *view.of_kind(ItemKind.AGENT_MSG, 1)]
    called = [row for row in view.recent(SITUATION) if row.kind is ItemKind.TOOL_CALL]
    return [*said, *called]


def _pinned(groups: Sequence[Group], candidates: Candidates) -> frozenset[int]:
    return frozenset(
        group.key
        for group in groups
        if group.key == candidates.latest_user or group.rows[0].kind is ItemKind.POLICY
    )


def _current(groups: Sequence[Group], candidates: Candidates) -> list[Group]:
    """Calls with their results since the latest user turn, newest first."""
    since = candidates.latest_user or 0
    return [group for group in reversed(groups) if group.key > since and len(group.rows) > 1]


def _told(rows: Iterable[ItemRow], budget: int, policy: ContextPolicy) -> frozenset[str]:
    """Ids of the items that may speak for the header: none where it leaves room for all of them."""
    whole = {row.id: max(row.tokens, 0) + LABEL for row in rows}
    has_room = sum(whole.values()) <= budget * (1 - policy.memory.header_share)
    return frozenset(() if has_room else whole)


def _above(
    view: SessionView,
    request: CompileRequest,
    question: Question,
    policy: ContextPolicy,
    budget: int,
    count: Count,
    base: CompileAudit | None,
    told: frozenset[str],
) -> tuple[PackEntry, ...]:
    """Header and tools; the header of the base as long as it stays and the budget has room."""
    header = frozen_header(view, base, policy) if base is not None else None
    room = int(budget * policy.memory.header_share)
    if header is None or sum(count(one.text + "\n") for one in header) > room:
        header = memory_header(view, question, policy, budget, count, told)
    tools = tools_entry(view, request, budget, count)
    return (*header, *([tools] if tools else []))


def _maker(policy: ContextPolicy, key: bytes, latest_user: int | None):  # type: ignore[no-untyped-def]
    untrusted = {*policy.firewall.untrusted_kinds, ItemKind.TOOL_RESULT}

    def make(row: ItemRow, form: Form) -> PackEntry:
        section = "policy" if row.kind is ItemKind.POLICY else "context"
        if row.sequence == latest_user:
            section = "latest"
        return entry(row, form, key, section, row.kind in untrusted)

    return make


def _unselected(
    groups: Sequence[Group], entries: Sequence[PackEntry], dropped: Sequence[DroppedItem]
) -> list[DroppedItem]:
    told = {shown.item_id for shown in entries} | {drop.item_id for drop in dropped}
    return [
        DroppedItem(row.id, "budget")
        for group in groups
        for row in group.rows
        if row.id not in told
    ]


def _stats(
    closed: Closed,
    weighed: Weighed,
    dropped: Sequence[DroppedItem],
    notes: tuple[str, ...],
    budget: int,
    encoding: str,
    count: Count,
) -> BuildStats:
    entries = weighed.entries
    included = tuple(shown.item_id for shown in entries if shown.item_id)
    sections: Counter[str] = Counter()
    for shown in entries:
        sections[shown.section] += count(shown.text)
    if entries:
        sections["frame"] = weighed.prompt - sum(sections.values())
    elif closed.total:
        notes = (*notes, f"a budget of {budget} tokens is too small for any item")
    return BuildStats(
        total_candidates=closed.total,
        included_count=len(included),
        dropped_count=len(dropped),
        dropped_reasons=dict(Counter(drop.reason for drop in dropped)),
        dropped_items=tuple(dropped),
        deduplicated_count=sum(drop.reason == "duplicate" for drop in dropped),
        tokens_per_section=dict(sections),
        dependency_closures=closed.added,
        included_items=included,
        prompt_tokens=weighed.prompt,
        message_tokens=weighed.messages,
        budget=budget,
        encoding=encoding,
        notes=notes,
    )


def _pack(
    view: SessionView,
    request: CompileRequest,
    policy_version: int,
    entries: Sequence[PackEntry],
    stats: BuildStats,
) -> ContextPack:
    prompt = render(entries)
    asked = msgspec.json.encode(request, order="deterministic")
    sha256 = hashlib.sha256(prompt.encode()).hexdigest()
    return ContextPack(
        id=digest(view.tenant, view.session, view.sequence, policy_version, asked, sha256)[:20],
        tenant=view.tenant,
        session=view.session,
        phase=request.phase,
        prompt=prompt,
        entries=tuple(entries),
        stats=stats,
        sequence=view.sequence,
        policy_version=policy_version,
        digest=sha256,
        pending=tuple(PendingItem(row.id, row.sequence) for row in view.pending()),
        render_version=RENDER_VERSION,
        code_version=CODE_VERSION,
    )


def _named(groups: Sequence[Group], scores: Mapping[int, float]) -> dict[str, float]:
    return {row.id: scores[group.key] for group in groups for row in group.rows}
