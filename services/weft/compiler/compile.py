"""The compile: a pure function of (session view, policy, request). `compile_pack` calls the
stages in order. Each changes the state, and records in the ledger what it dropped and why."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from weft.compiler.candidates.closure import Group, dependency_closure
from weft.compiler.candidates.facts import Outdated, newest_statements, outdated_items
from weft.compiler.candidates.find import find_candidates
from weft.compiler.candidates.flags import flags_among
from weft.compiler.candidates.phase_rules import shown_in_phase, within_limits
from weft.compiler.candidates.sensitivity import withhold
from weft.compiler.ledger import Ledger
from weft.compiler.manifest import audit_of, manifest_of
from weft.compiler.notes import note_all
from weft.compiler.pack import pack_of
from weft.compiler.profiles import PROFILES, Emphasis, Profile
from weft.compiler.ranking.query import query_of, situation
from weft.compiler.ranking.question import open_question, understand
from weft.compiler.ranking.relevance import score_groups
from weft.compiler.rendering.cost import Costed, Shown
from weft.compiler.rendering.counting import counter
from weft.compiler.rendering.message_tokens import message_tokens
from weft.compiler.rendering.reasoning import refused_calls, returned_reasoning, with_reasoning
from weft.compiler.renditions.outdated_facts import (
    text_without_outdated_facts,
    without_outdated_facts,
)
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.left_out import with_named_calls
from weft.compiler.selection.prefix import kept_prefix, select_stable
from weft.compiler.selection.repeats import without_dangling
from weft.compiler.selection.select import select
from weft.compiler.selection.steps import Selected, Step
from weft.compiler.selection_input import choice_of
from weft.compiler.state import State, asked_budget
from weft.readmodel.view import SessionView
from weft_schemas.compile import CompileAudit, CompileRequest, ContextPack
from weft_schemas.policy import ContextPolicy, phase_rule


class Compilation(msgspec.Struct, frozen=True):
    """The result of a compile: the reply, the audit event that can reproduce it, and each
    candidate's score by item id."""

    pack: ContextPack
    audit: CompileAudit
    scores: dict[str, float] = {}


class Trace(msgspec.Struct, frozen=True, eq=False):
    """A compile with what its stages knew: enough to say of each item why it is in the prompt, or
    why it is not."""

    made: Compilation
    state: State
    choice: Choice
    shown: Shown
    steps: Sequence[Step]
    """Of the selection."""


def compile_pack(
    view: SessionView,
    request: CompileRequest,
    *,
    key: bytes = b"",
    base: CompileAudit | None = None,
) -> Compilation:
    """The pack for a request over a view, and its audit event. `key` is the deployment's secret,
    with which fences are made. `base` is the audit of the pack that `request.stable_from` names,
    None if it is unknown."""
    return traced_compile(view, request, key=key, base=base).made


def traced_compile(
    view: SessionView,
    request: CompileRequest,
    *,
    key: bytes = b"",
    base: CompileAudit | None = None,
) -> Trace:
    """The same with its trace, for an explanation."""
    state = _candidates(within_scopes(view, request), request, key, base)
    _group_calls(state)
    _apply_sensitivity(state)
    _apply_phase_rules(state)
    _rank(state)
    _reserve_reasoning(state)
    choice = choice_of(state)
    selected = _select(state, choice)
    choice, shown = _without_refused_calls(state, selected.choice, selected.shown)
    return Trace(_render(state, choice, shown), state, choice, shown, selected.steps)


def within_scopes(view: SessionView, request: CompileRequest) -> SessionView:
    """The view, limited to the memory scopes of the request."""
    if isinstance(request.scopes, msgspec.UnsetType):
        return view
    return view.within(request.scopes)


def budget_of(request: CompileRequest, policy: ContextPolicy) -> int:
    """Tokens that the prompt may take."""
    return max(asked_budget(request, policy) - request.reserve, 0)


def _candidates(
    view: SessionView, request: CompileRequest, key: bytes, base: CompileAudit | None
) -> State:
    """Find the items to consider."""
    version, policy = view.policy() if request.policy is None else (0, request.policy)
    budget = budget_of(request, policy)
    query = query_of(view, request, policy)
    question = understand(query or situation(view, budget))
    retrieval = PROFILES[request.phase].retrieval
    pins = () if isinstance(request.pin, msgspec.UnsetType) else request.pin
    found = find_candidates(view, question, policy.selection, retrieval, budget, pins, bool(query))
    return State(
        view, request, policy, version, budget, query, question, key, base, Ledger(), found
    )


def _group_calls(state: State) -> None:
    """Group each call with its results; drop groups that cannot be complete."""
    manifest = state.base.manifest if state.base else ()
    told = {at for one in manifest if one.item_id for at in (one.sequence, *one.named)}
    before = state.view.rows(sorted(told))
    rows = {row.sequence: row for row in (*state.candidates.rows, *before)}
    state.groups = dependency_closure(state.view, rows.values(), state.ledger)


def _apply_sensitivity(state: State) -> None:
    """Drop or redact items at the sensitivity floor, and flagged items as the policy says."""
    state.flags = flags_among(state.view, state.groups)
    state.groups, state.redacted = withhold(state.groups, state.flags, state.policy, state.ledger)


def _apply_phase_rules(state: State) -> None:
    """Drop the kinds that the phase does not show, and replaced plans and facts. Of an item with
    several facts only the replaced ones are dropped."""
    phase = state.request.phase
    state.statements = newest_statements(state.view, state.groups)
    replaced = outdated_items(state.view, state.groups, state.statements)
    rule = phase_rule(state.policy, phase)
    kept = shown_in_phase(state.groups, phase, rule, state.ledger, replaced)
    state.groups = tuple(
        _without_outdated_facts(state, group, replaced.get(group.key)) for group in kept
    )


def _without_outdated_facts(state: State, group: Group, outdated: Outdated | None) -> Group:
    if outdated is None:
        return group
    row, count = group.rows[0], counter(state.view.encoding)
    made = without_outdated_facts(
        row, outdated.numbers, count(text_without_outdated_facts(row, outdated.numbers))
    )
    return msgspec.structs.replace(group, rows=(made,))


def _rank(state: State) -> None:
    """Score each group for this step, and drop those beyond the limits of their kind."""
    phase, found = state.request.phase, state.candidates
    rule, profile = phase_rule(state.policy, phase), PROFILES[phase]
    emphasis = _emphasis(state, profile)
    # The latest turn is shown anyway. That it matches itself says nothing about its neighbours.
    excluded = set() if state.query else {found.latest_user}
    matches = {at: score for at, score in found.scores.items() if at not in excluded}
    state.scores = score_groups(
        state.groups, matches, state.question, rule, emphasis, found.latest_user
    )
    state.prefix = kept_prefix(
        state.view,
        state.base,
        state.policy_version,
        state.policy,
        state.groups,
        state.redacted,
    )
    settled = frozenset(group.key for group in state.pinned()) | state.prefix.shown.keys()
    state.groups = within_limits(state.groups, state.scores, settled, phase, rule, state.ledger)


def _emphasis(state: State, profile: Profile) -> Emphasis:
    if state.query:
        return profile.emphasis
    unasked = profile.unasked or profile.emphasis
    if profile.asked_by_user and open_question(state.groups, state.query):
        return profile.asked_by_user
    return unasked


def _reserve_reasoning(state: State) -> None:
    """Reserve budget for the reasoning of the current turn."""
    count = counter(state.view.encoding)
    state.returned_reasoning = returned_reasoning(state.groups, state.budget, count, state.ledger)
    state.budget -= state.returned_reasoning.tokens


def _select(state: State, choice: Choice) -> Selected:
    """Choose the renditions that the prompt shows, and the calls that it names instead."""
    if state.request.stable_from is not None and not state.prefix.shown:
        reason = state.prefix.reason or "nothing of the base can stay"
        state.ledger.note(f"compiled fresh: {reason}")
    if state.prefix.shown:
        selected = select_stable(choice, state.prefix, state.ledger)
    else:
        selected = select(choice, state.ledger)
    return selected._replace(shown=without_dangling(selected.choice, selected.shown))


def _without_refused_calls(state: State, choice: Choice, shown: Shown) -> tuple[Choice, Shown]:
    """The same without calls that their provider would refuse: they are written in words, or left
    out if there is no room for that."""
    while calls := refused_calls(state.groups, shown, state.returned_reasoning):
        withheld = state.returned_reasoning.withheld | calls
        state.returned_reasoning = msgspec.structs.replace(
            state.returned_reasoning, withheld=withheld
        )
        choice = with_named_calls(choice_of(state), choice.cost.named)
        if not choice.cost.fits(shown, choice.budget):
            left = {row.sequence for one in state.groups if one.key in calls for row in one.rows}
            shown = {at: one for at, one in shown.items() if at not in left}
            shown = without_dangling(choice, shown)
    return choice, shown


def _render(state: State, choice: Choice, shown: Shown) -> Compilation:
    """The prompt, its stats and its audit."""
    costed = choice.cost.costed(shown)
    if state.returned_reasoning.reasoning:
        entries = tuple(with_reasoning(costed.entries, state.returned_reasoning))
        messages = message_tokens(entries, counter(state.view.encoding))
        costed = Costed(entries, costed.prompt, messages)
    state.ledger.drop(
        (row for group in state.groups for row in group.rows if row.sequence not in shown),
        "budget",
    )
    state.ledger.repeats = sum(one.view == "reference" for one in shown.values())
    note_all(state, choice, shown, costed.entries)
    pack = pack_of(state, costed, choice, shown)
    manifest = manifest_of(costed.entries, choice.cost, shown)
    scores = {row.id: state.scores[group.key] for group in state.groups for row in group.rows}
    return Compilation(pack, audit_of(pack, state.request, manifest), scores)
