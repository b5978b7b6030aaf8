"""The compile: a pure function of (session view, policy, request) that runs the eight stages."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial

import msgspec

from weft.compiler.auditing import audit_of, manifest_of
from weft.compiler.blocks import entry
from weft.compiler.candidates import LABEL
from weft.compiler.closure import Closed
from weft.compiler.considering import Considered, consider
from weft.compiler.counting import Count, counter, learn
from weft.compiler.forms import Form
from weft.compiler.header import frozen_header, memory_header
from weft.compiler.phases import LOOKS
from weft.compiler.query import Question
from weft.compiler.rendering import RENDER_VERSION, render
from weft.compiler.selecting import Choice, select
from weft.compiler.sheet import Sheet, Weighed
from weft.compiler.stability import Kept, select_stable
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

CODE_VERSION = "8"
"""Changes whenever the same view and request would give another selection."""


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
    considered = consider(view, request, version, policy, base, budget)
    kept = considered.kept
    sheet = _sheet(view, request, policy, considered, budget, count, base, key)
    choice = _choice(view, request, considered, sheet, budget)
    selected = select_stable(choice, kept.forms) if kept.forms else select(choice)
    weighed = sheet.weigh(selected.forms)
    entries = weighed.entries
    dropped = [*considered.dropped, *_unselected(considered, entries)]
    notes = (*selected.notes, *_notes(view, request, kept))
    stats = _stats(considered.closed, weighed, dropped, notes, budget, view.encoding, count)
    pack = _pack(view, request, version, entries, stats)
    manifest = manifest_of(entries, sheet.rows, selected.forms)
    scores = {
        row.id: considered.scores[group.key] for group in considered.allowed for row in group.rows
    }
    return Compilation(pack, audit_of(pack, request, manifest), scores)


def budget_of(request: CompileRequest, policy: ContextPolicy) -> int:
    """Tokens that the prompt may take."""
    wanted = policy.budgets.of(request.phase) if request.budget is None else request.budget
    return max(wanted - request.reserve, 0)


def _sheet(
    view: SessionView,
    request: CompileRequest,
    policy: ContextPolicy,
    considered: Considered,
    budget: int,
    count: Count,
    base: CompileAudit | None,
    key: bytes,
) -> Sheet:
    """A sheet with header and tools on top, for the rows that may be shown."""
    rows = {row.sequence: row for group in considered.groups for row in group.rows}
    repeats = LOOKS[request.phase].repeats
    told = frozenset[str]() if repeats else _told(rows.values(), budget, policy)
    frozen = base if considered.kept.forms else None
    above = _above(view, request, considered.question, policy, budget, count, frozen, told)
    make = _maker(policy, key, considered.latest_user)
    return Sheet(above, rows, make, count, partial(learn, encoding=view.encoding))


def _choice(
    view: SessionView, request: CompileRequest, considered: Considered, sheet: Sheet, budget: int
) -> Choice:
    look = LOOKS[request.phase]
    return Choice(
        considered.groups,
        considered.afresh,
        considered.scores,
        considered.pinned,
        considered.redacted,
        look.wants,
        asked_fields(sheet.rows.values(), parameter_names(view, request)),
        sheet,
        budget,
        view.encoding,
        considered.current,
        look.current,
    )


def _notes(view: SessionView, request: CompileRequest, kept: Kept) -> list[str]:
    notes = []
    if request.stable_from is not None and not kept.forms:
        notes.append(f"compiled fresh: {kept.reason or 'nothing of the base can stay'}")
    if request.as_of is not None and request.as_of > view.sequence:
        notes.append(f"as of {request.as_of}: what is read ends at {view.sequence}")
    return notes


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


def _unselected(considered: Considered, entries: Sequence[PackEntry]) -> list[DroppedItem]:
    told = {shown.item_id for shown in entries} | {drop.item_id for drop in considered.dropped}
    return [
        DroppedItem(row.id, "budget")
        for group in considered.allowed
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
