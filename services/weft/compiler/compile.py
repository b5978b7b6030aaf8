"""The compile: a pure function of (session view, policy, request). Its stages stand below in
order; each takes the state as the one before left it, and writes into the ledger what it dropped
and why."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from weft.compiler.candidates.closure import Group, close
from weft.compiler.candidates.facts import (
    NOTHING_STATED,
    Outdated,
    Stated,
    stated,
    superseded,
)
from weft.compiler.candidates.find import Candidates, find_candidates
from weft.compiler.candidates.flags import Flags, apply_actions, flags_among
from weft.compiler.candidates.phase_rules import showable, within_limits
from weft.compiler.candidates.sensitivity import apply_floor
from weft.compiler.ledger import Ledger
from weft.compiler.manifest import audit_of, manifest_of
from weft.compiler.profiles import LABEL, PROFILES, SITUATION, SITUATION_TEXT
from weft.compiler.ranking.question import Question, understand
from weft.compiler.ranking.relevance import score_groups
from weft.compiler.ranking.worth import arguments_used, asked_fields
from weft.compiler.rendering.cost import Costed, PromptCost, Shown
from weft.compiler.rendering.counting import Count, counter, message_tokens
from weft.compiler.rendering.entries import entry
from weft.compiler.rendering.memory import frozen_header, is_current, memory_header
from weft.compiler.rendering.prompt import RENDER_VERSION, render
from weft.compiler.rendering.reasoning import Carried, attached, carried
from weft.compiler.rendering.tools import parameter_names, tools_entry
from weft.compiler.renditions.in_force import in_force, text_in_force
from weft.compiler.renditions.rendition import (
    COMPACT,
    REDACTED,
    WHOLE,
    Rendition,
    reference,
    summarised,
)
from weft.compiler.selection.offers import Scores, Shape, required_parts
from weft.compiler.selection.prefix import Prefix, keep, select_stable
from weft.compiler.selection.repeats import repeated
from weft.compiler.selection.select import Choice, select
from weft.readmodel.rows import ItemRow
from weft.readmodel.view import SessionView
from weft_schemas.compile import (
    BuildStats,
    CompileAudit,
    CompileRequest,
    ContextPack,
    PackEntry,
    PendingItem,
)
from weft_schemas.ids import digest
from weft_schemas.items import ItemKind
from weft_schemas.policy import ContextPolicy, phase_rule, shown_up_to

OTHERS = frozenset({ItemKind.TOOL_RESULT, ItemKind.DOC_SNIPPET})
"""Kinds that hold what others wrote, whatever the policy says: always in a fence."""

CODE_VERSION = "19"
"""Changes whenever the same view and request would give another selection."""


class Compilation(msgspec.Struct, frozen=True):
    """What a compile gives: the reply, the audit event that can reproduce it, and what each
    candidate scored, by item id."""

    pack: ContextPack
    audit: CompileAudit
    scores: dict[str, float] = {}


class State(msgspec.Struct):
    """What the stages of one compile pass on."""

    view: SessionView
    request: CompileRequest
    policy: ContextPolicy
    policy_version: int
    budget: int
    """Tokens that the prompt may take."""
    question: Question
    key: bytes
    """The deployment's secret that fences are made with."""
    base: CompileAudit | None
    """The audit of the pack that `request.stable_from` names."""
    ledger: Ledger
    candidates: Candidates
    groups: tuple[Group, ...] = ()
    """What may still be shown."""
    redacted: frozenset[int] = frozenset()
    """Sequences whose text is the redaction hook's."""
    scores: dict[int, float] = {}
    """By group key."""
    prefix: Prefix = Prefix()
    """What of the base stays."""
    flags: Flags = {}
    stated: Stated = NOTHING_STATED
    """What the items say of facts."""
    carried: Carried = Carried()
    """Reasoning that goes back to its provider; its tokens are off the budget."""


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
    state = _candidates(readable(view, request), request, key, base)
    _close(state)
    _apply_sensitivity(state)
    _apply_phase_rules(state)
    _rank(state)
    _carry_reasoning(state)
    choice = _renditions(state)
    shown = _select(state, choice)
    return _render(state, choice, shown)


def readable(view: SessionView, request: CompileRequest) -> SessionView:
    """The view with the memory that the request is for."""
    if isinstance(request.scopes, msgspec.UnsetType):
        return view
    return view.within(request.scopes)


def entries_of(
    view: SessionView,
    request: CompileRequest,
    policy: ContextPolicy,
    above: Sequence[PackEntry],
    shown: Shown,
    key: bytes,
) -> list[PackEntry]:
    """The entries of these renditions, as a compile made them; `above` are memory and tools."""
    groups = close(view, view.rows(shown), Ledger())
    flags = flags_among(view, groups)
    groups, _ = _withheld_groups(groups, flags, policy, Ledger())
    make = partial(_entry, policy, key, None, _group_of(groups), flags)
    cost = PromptCost(above, groups, make, counter(view.encoding))
    return cost.entries({at: one for at, one in shown.items() if at in cost.rows})


def budget_of(request: CompileRequest, policy: ContextPolicy) -> int:
    """Tokens that the prompt may take."""
    wanted = policy.budgets.of(request.phase) if request.budget is None else request.budget
    return max(wanted - request.reserve, 0)


def _candidates(
    view: SessionView, request: CompileRequest, key: bytes, base: CompileAudit | None
) -> State:
    """Which items are looked at."""
    version, policy = view.policy() if request.policy is None else (0, request.policy)
    budget = budget_of(request, policy)
    question = understand(request.query or _situation(view))
    reach = PROFILES[request.phase].reach
    pins = () if isinstance(request.pin, msgspec.UnsetType) else request.pin
    found = find_candidates(view, question, policy.selection, reach, budget, pins)
    return State(view, request, policy, version, budget, question, key, base, Ledger(), found)


def _situation(view: SessionView) -> str:
    """What was last said and called: it stands for the query where there is none."""
    said = [*view.of_kind(ItemKind.USER_TURN, 1), *view.of_kind(ItemKind.AGENT_MSG, 1)]
    called = [row for row in view.recent(SITUATION) if row.kind is ItemKind.TOOL_CALL]
    return "\n".join(row.whole[:SITUATION_TEXT] for row in (*said, *called))


def _close(state: State) -> None:
    """A call with its results is one group; what cannot be complete is dropped."""
    before = (
        state.view.rows(one.sequence for one in state.base.manifest if one.item_id)
        if (state.base)
        else []
    )
    rows = {row.sequence: row for row in (*state.candidates.rows, *before)}
    state.groups = close(state.view, rows.values(), state.ledger)


def _apply_sensitivity(state: State) -> None:
    """What reaches the floor, and what the policy says of flagged items, is dropped or redacted."""
    state.flags = flags_among(state.view, state.groups)
    state.groups, state.redacted = _withheld_groups(
        state.groups, state.flags, state.policy, state.ledger
    )


def _withheld_groups(
    groups: Sequence[Group], flags: Flags, policy: ContextPolicy, ledger: Ledger
) -> tuple[tuple[Group, ...], frozenset[int]]:
    kept, flagged = apply_actions(groups, flags, policy.firewall, ledger)
    return apply_floor(kept, policy, ledger, flagged)


def _apply_phase_rules(state: State) -> None:
    """Kinds that the phase does not show, and plans and facts that newer ones have replaced, are
    dropped; of an item that gives more facts, those."""
    phase = state.request.phase
    state.stated = stated(state.view, state.groups)
    replaced = superseded(state.view, state.groups, state.stated)
    rule = phase_rule(state.policy, phase)
    kept = showable(state.groups, phase, rule, state.ledger, replaced)
    state.groups = tuple(_in_force(state, group, replaced.get(group.key)) for group in kept)


def _in_force(state: State, group: Group, outdated: Outdated | None) -> Group:
    if outdated is None:
        return group
    row, count = group.rows[0], counter(state.view.encoding)
    made = in_force(row, outdated.numbers, count(text_in_force(row, outdated.numbers)))
    return msgspec.structs.replace(group, rows=(made,))


def _rank(state: State) -> None:
    """How much each group matters to this step, and which are beyond the limits of their kind."""
    phase, found = state.request.phase, state.candidates
    rule, profile = phase_rule(state.policy, phase), PROFILES[phase]
    emphasis = profile.emphasis if state.request.query else profile.unasked or profile.emphasis
    # The latest turn stands anyway: that it matches itself says nothing about what is beside it.
    asking = set() if state.request.query else {found.latest_user}
    matches = {at: score for at, score in found.scores.items() if at not in asking}
    state.scores = score_groups(
        state.groups, matches, state.question, rule, emphasis, found.latest_user
    )
    state.prefix = keep(
        state.view,
        state.base,
        state.policy_version,
        state.policy,
        state.groups,
        state.redacted,
    )
    settled = frozenset(group.key for group in _pinned(state)) | state.prefix.shown.keys()
    state.groups = within_limits(state.groups, state.scores, settled, phase, rule, state.ledger)


def _carry_reasoning(state: State) -> None:
    """What of the budget goes to the reasoning of the open exchange."""
    count = counter(state.view.encoding)
    state.carried = carried(state.groups, state.budget, count, state.ledger)
    state.budget -= state.carried.tokens


def _pinned(state: State) -> list[Group]:
    """The pinned groups, the most important first, policies last, the newest of them first."""
    of = {row.sequence: group for group in state.groups for row in group.rows}
    pinned = {of[at].key: of[at] for at in state.candidates.pinned if at in of}
    for group in reversed(state.groups):
        if group.rows[0].kind is ItemKind.POLICY:
            pinned.setdefault(group.key, group)
    return list(pinned.values())


def _renditions(state: State) -> Choice:
    """The ways in which each item may be shown, and what each would cost."""
    request, rows = state.request, [row for group in state.groups for row in group.rows]
    profile, count = PROFILES[request.phase], counter(state.view.encoding)
    again = repeated(state.groups, state.redacted)
    shapes = {row.sequence: _shape(state, row, again) for row in rows}
    cost = PromptCost(
        _above(state, rows, count),
        state.groups,
        partial(
            _entry,
            state.policy,
            state.key,
            state.candidates.latest_user,
            _group_of(state.groups),
            state.flags,
            withheld=state.carried.withheld,
        ),
        count,
    )
    since = state.candidates.latest_user or 0
    return Choice(
        groups=state.groups,
        scores=Scores(
            state.scores,
            _passages(state, rows),
            frozenset(state.question.terms),
            arguments_used(rows),
        ),
        shapes=shapes,
        pinned=tuple(_pinned(state)),
        exchange=tuple(
            group for group in reversed(state.groups) if group.key > since and group.is_exchange
        ),
        wants=profile.wants,
        asked=asked_fields(rows, parameter_names(state.view, request)),
        cost=cost,
        budget=state.budget,
        is_all=state.ledger.total >= state.view.item_count(),
        has_query=bool(request.query),
    )


def _passages(state: State, rows: Sequence[ItemRow]) -> Mapping[int, Mapping[int, float]]:
    """What answers, by passages of the texts as they are shown."""
    found = state.candidates.passages
    others = {row.sequence for row in rows if row.outdated}.intersection(found)
    return {at: one for at, one in found.items() if at not in others} if others else found


def _shape(state: State, row: ItemRow, again: frozenset[int]) -> Shape:
    redacted = row.sequence in state.redacted
    if row.kind is ItemKind.TOOL_RESULT and not redacted and row.is_complete:
        name = row.metadata.get("tool_name")
        limit = shown_up_to(state.policy.firewall, name if isinstance(name, str) else None)
        if limit is not None and row.whole_tokens > limit and row.envelope is not None:
            return Shape(row, False, summarised(row), frozenset(), is_limited=True)
        if row.sequence in again:
            return Shape(row, False, reference(row), frozenset())
    required = frozenset[int]() if redacted else required_parts(row)
    return Shape(row, redacted, None, required)


def _group_of(groups: Sequence[Group]) -> dict[int, Group]:
    return {row.sequence: group for group in groups for row in group.rows}


def _entry(
    policy: ContextPolicy,
    key: bytes,
    latest_user: int | None,
    groups: Mapping[int, Group],
    flags: Flags,
    row: ItemRow,
    shown: Rendition,
    withheld: frozenset[int] = frozenset(),
) -> PackEntry:
    if row.sequence in withheld:  # its provider would refuse it as a call
        shown = msgspec.structs.replace(shown, arguments=None)
    section = "policy" if row.kind is ItemKind.POLICY else "context"
    if row.sequence == latest_user:
        section = "latest"
    untrusted = row.kind in {*policy.firewall.untrusted_kinds, *OTHERS} or row.envelope is not None
    call = groups[row.sequence].rows[0]
    answer = groups[row.sequence].waits if row is call else ""
    answers = None if row is call else call.id
    signals = flags.get(row.sequence, ())
    return entry(row, shown, key, section, untrusted, answer, answers, signals)


def _above(state: State, rows: Sequence[ItemRow], count: Count) -> tuple[PackEntry, ...]:
    """Memory and tools; the memory of the base as long as it stays and the budget has room."""
    share = state.policy.memory.header_share
    base = state.base if state.prefix.shown else None
    header = frozen_header(state.view, base, state.policy) if base is not None else None
    room = int(state.budget * share)
    if header is not None and not is_current(header, state.view, state.stated):
        header = None
    if header is None or sum(count(one.text + "\n") for one in header) > room:
        told = frozenset[str]() if PROFILES[state.request.phase].repeats else _told(state, rows)
        header = memory_header(
            state.view, state.question, state.policy, state.budget, count, told, state.stated
        )
    tools = tools_entry(state.view, state.request, state.budget, count)
    return (*header, *([tools] if tools else []))


def _told(state: State, rows: Sequence[ItemRow]) -> frozenset[str]:
    """Ids of the items that may speak for the header: none where it leaves room for all of them."""
    tokens = sum(max(row.whole_tokens, 0) + LABEL for row in rows)
    has_room = tokens <= state.budget * (1 - state.policy.memory.header_share)
    return frozenset(() if has_room else (row.id for row in rows))


def _select(state: State, choice: Choice) -> Shown:
    """Which renditions stand in the prompt."""
    if state.request.stable_from is not None and not state.prefix.shown:
        reason = state.prefix.reason or "nothing of the base can stay"
        state.ledger.note(f"compiled fresh: {reason}")
    if state.prefix.shown:
        return select_stable(choice, state.prefix.shown, state.ledger)
    return select(choice, state.ledger)


def _render(state: State, choice: Choice, shown: Shown) -> Compilation:
    """The prompt, its stats and its audit."""
    costed = choice.cost.costed(shown)
    if state.carried.reasoning:
        entries = tuple(attached(costed.entries, state.carried))
        messages = message_tokens(entries, counter(state.view.encoding))
        costed = Costed(entries, costed.prompt, messages)
    state.ledger.drop(
        (row for group in state.groups for row in group.rows if row.sequence not in shown),
        "budget",
    )
    state.ledger.repeats = sum(one.view == "reference" for one in shown.values())
    pack = _pack(state, costed, choice, shown)
    manifest = manifest_of(costed.entries, choice.cost.rows, shown)
    scores = {row.id: state.scores[group.key] for group in state.groups for row in group.rows}
    return Compilation(pack, audit_of(pack, state.request, manifest), scores)


def _stats(state: State, costed: Costed, choice: Choice, shown: Shown) -> BuildStats:
    ledger, entries = state.ledger, costed.entries
    count = counter(state.view.encoding)
    sections: Counter[str] = Counter()
    for one in entries:
        sections[one.section] += count(one.text)
    if entries:
        sections["frame"] = costed.prompt - sum(sections.values())
    if not shown and state.groups:
        ledger.note(f"a budget of {state.budget} tokens is too small for any item")
    if state.request.as_of is not None and state.request.as_of > state.view.sequence:
        ledger.note(f"as of {state.request.as_of}: what is read ends at {state.view.sequence}")
    included = tuple(one.item_id for one in entries if one.item_id)
    cut = {at: one for at, one in shown.items() if one.view not in (WHOLE, COMPACT, REDACTED)}
    return BuildStats(
        total_candidates=ledger.total,
        included_count=len(included),
        dropped_count=len(ledger.dropped),
        dropped_reasons=ledger.reasons,
        dropped_items=ledger.dropped,
        deduplicated_count=ledger.repeats,
        tokens_per_section=dict(sections),
        dependency_closures=ledger.closures,
        included_items=included,
        prompt_tokens=costed.prompt,
        message_tokens=costed.messages,
        budget=state.budget + state.carried.tokens,
        encoding=state.view.encoding,
        notes=tuple(ledger.notes),
        shortened_count=len(cut),
        withheld_tokens=sum(_withheld(choice.cost.rows[at], one) for at, one in cut.items()),
        session_items=state.view.item_count(),
    )


def _withheld(row: ItemRow, shown: Rendition) -> int:
    """About how many tokens of an item are not shown."""
    size = row.size_of_whole
    whole = row.whole_tokens if row.is_complete or row.envelope is None else row.envelope.raw_tokens
    return max(whole - round(max(row.whole_tokens, 0) * len(shown.text) / max(size, 1)), 0)


def _pack(state: State, costed: Costed, choice: Choice, shown: Shown) -> ContextPack:
    view, request = state.view, state.request
    prompt = render(costed.entries)
    asked = msgspec.json.encode(request, order="deterministic")
    sha256 = hashlib.sha256(prompt.encode()).hexdigest()
    name = (view.tenant, view.session, view.sequence, state.policy_version, asked, sha256)
    return ContextPack(
        id=digest(*name)[:20],
        tenant=view.tenant,
        session=view.session,
        phase=request.phase,
        prompt=prompt,
        entries=costed.entries,
        stats=_stats(state, costed, choice, shown),
        sequence=view.sequence,
        policy_version=state.policy_version,
        digest=sha256,
        pending=tuple(PendingItem(row.id, row.sequence) for row in view.pending()),
        render_version=RENDER_VERSION,
        code_version=CODE_VERSION,
    )
