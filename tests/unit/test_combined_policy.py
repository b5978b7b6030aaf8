"""A session's own policy under its tenant's: the stricter value holds wherever something is
concealed, the session's everywhere else."""

from __future__ import annotations

import itertools
from typing import TypeVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft_schemas.combined_policy import STRICTER, combined, encoded_in_force, in_force, overruled
from weft_schemas.envelope import Signal
from weft_schemas.items import ItemKind, Sensitivity
from weft_schemas.loosening import FIELDS, loosened
from weft_schemas.policy import (
    ContextBudget,
    ContextPolicy,
    FirewallRules,
    KnownSecrets,
    MemoryRules,
    Phase,
    PhaseRule,
    PiiAction,
    SecretPattern,
    SelectionRules,
    SensitivityAction,
    SignalAction,
    SignalRule,
    SummaryRules,
    ToolRule,
    action_on,
    is_masked,
    phase_rule,
    rule_for,
    shown_up_to,
)

T = TypeVar("T")

INTERNAL, RESTRICTED = Sensitivity.INTERNAL, Sensitivity.RESTRICTED
MINE = ContextPolicy("mine", "s1", ContextBudget(answer=3_000), memory=MemoryRules(fact_tokens=9))


def rules(**fields: object) -> ContextPolicy:
    return ContextPolicy(firewall=FirewallRules(**fields))  # type: ignore[arg-type]


def shown(*kinds: ItemKind) -> ContextPolicy:
    return ContextPolicy(phases={Phase.ANSWER: PhaseRule(kinds)})


def drops(signal: str) -> SignalRule:
    return SignalRule(signal, SignalAction.DROP)


PATTERNS = [SecretPattern(name, f"{name}-[0-9]+") for name in ("badge", "visit")]
TENANTS = [
    ContextPolicy(sensitivity_floor=INTERNAL),
    ContextPolicy(sensitivity_action=SensitivityAction.REDACT, redaction_hook="names"),
    shown(ItemKind.USER_TURN, ItemKind.AGENT_MSG),
    rules(untrusted_kinds=(ItemKind.TOOL_RESULT, ItemKind.DOC_SNIPPET)),
    rules(untrusted_kinds=()),
    rules(actions=(drops("injection:*"),)),
    rules(actions=(SignalRule("injection:*", SignalAction.REDACT, 3.0), drops("secret:*"))),
]
SESSIONS = [
    MINE,
    ContextPolicy(sensitivity_floor=Sensitivity.PUBLIC),
    ContextPolicy(sensitivity_floor=RESTRICTED, sensitivity_action=SensitivityAction.REDACT),
    ContextPolicy(sensitivity_action=SensitivityAction.REDACT, redaction_hook="other"),
    shown(ItemKind.USER_TURN, ItemKind.PLAN_STATE),
    rules(untrusted_kinds=tuple(ItemKind)),
    rules(actions=(SignalRule("*", SignalAction.FENCE),)),
    rules(actions=(drops("injection:*"), drops("secret:*"))),
]
CONCEALING = tuple(path for path in STRICTER if not isinstance(FIELDS[path], str))


def test_the_stricter_fields_are_fields_of_a_policy_and_all_that_a_request_may_not_loosen() -> None:
    assert set(FIELDS) >= STRICTER
    assert {path for path, judge in FIELDS.items() if not isinstance(judge, str)} <= STRICTER


@pytest.mark.parametrize("tenants", TENANTS)
@pytest.mark.parametrize("sessions", SESSIONS)
def test_a_sessions_policy_shows_nothing_that_the_tenants_conceals(
    tenants: ContextPolicy, sessions: ContextPolicy
) -> None:
    made = combined(tenants, sessions)
    assert loosened(tenants, made) == ()


@pytest.mark.parametrize("sessions", SESSIONS)
def test_a_sessions_policy_may_conceal_more(sessions: ContextPolicy) -> None:
    for tenants in [ContextPolicy(sensitivity_floor=RESTRICTED), *TENANTS]:
        made = combined(tenants, sessions)
        more = [one for one in loosened(sessions, made) if one.startswith(CONCEALING)]
        assert not more or tenants.firewall.actions  # whose rules come first


def test_everything_else_is_the_sessions() -> None:
    tenants = ContextPolicy(
        "all",
        budgets=ContextBudget(answer=9),
        selection=SelectionRules(recent=1),
        memory=MemoryRules(results=("web",)),
        firewall=FirewallRules(summary_tokens=9, tools=(ToolRule("web", keep=("a",)),)),
        summaries=SummaryRules(item_tokens=9),
    )
    assert combined(tenants, MINE) == MINE
    assert overruled(MINE, ContextPolicy("all")) == ()


def test_what_is_overruled_is_named() -> None:
    tenants = msgspec.structs.replace(
        shown(ItemKind.USER_TURN),
        sensitivity_floor=INTERNAL,
        firewall=FirewallRules(secret_patterns=(PATTERNS[0],)),
    )
    assert overruled(MINE, tenants) == (
        "phases.kinds",
        "sensitivity_floor",
        "firewall.secret_patterns",
    )


def test_secrets_of_both_are_masked_in_all_kinds_that_either_masks() -> None:
    users, plans = (ItemKind.USER_TURN,), (ItemKind.PLAN_STATE,)
    made = combined(
        rules(secret_patterns=(PATTERNS[0],), masked_kinds=users),
        rules(secret_patterns=tuple(PATTERNS), masked_kinds=plans),
    ).firewall
    assert made.secret_patterns == tuple(PATTERNS)
    assert [kind for kind in ItemKind if is_masked(made, kind)] == [*users, *plans]
    assert is_masked(combined(rules(), rules(masked_kinds=())).firewall, ItemKind.DOC_SNIPPET)


def test_the_tenants_known_secrets_stay_known() -> None:
    known = [KnownSecrets(key * 32, (f"8:0000:{'0' * 32}",)) for key in "ab"]
    for tenants, sessions, is_expected in [(0, None, 0), (0, 1, 0), (None, 1, 1)]:
        pair = (rules() if at is None else rules(known_secrets=known[at])
                for at in (tenants, sessions))  # fmt: skip
        assert combined(*pair).firewall.known_secrets == known[is_expected]


def test_personal_data_is_treated_as_the_tenant_says() -> None:
    for one, other, pii in [
        (PiiAction.MASK, PiiAction.FLAG, PiiAction.MASK),
        (PiiAction.FLAG, PiiAction.MASK, PiiAction.MASK),
        (PiiAction.MASK, PiiAction.RAISE, PiiAction.MASK),
    ]:
        assert combined(rules(pii=one), rules(pii=other)).firewall.pii is pii
    made = combined(rules(pii_sensitivity=RESTRICTED), rules(pii_sensitivity=INTERNAL))
    assert made.firewall.pii_sensitivity is RESTRICTED


TOOLS = ("hr.pay", "hr.leave", "web", "db.read", "other", None)
GLOBS = ("*", "hr.*", "hr.pay", "?eb")


@pytest.mark.parametrize("glob", GLOBS)
def test_no_result_is_less_sensitive_than_the_tenant_says(glob: str) -> None:
    public = ToolRule("hr.leave")
    for tenants in itertools.permutations((ToolRule(glob, sensitivity=RESTRICTED), public)):
        for one in GLOBS:
            mine = (ToolRule(one, show="fit"), ToolRule("db.*", sensitivity=INTERNAL))
            made = combined(rules(tools=tenants), rules(tools=mine)).firewall
            for name in TOOLS:
                given = rule_for(FirewallRules(tools=tenants), name)
                now = rule_for(made, name)
                if given and given.sensitivity:
                    assert now is not None
                    assert now.sensitivity is RESTRICTED, (glob, one, name)
            assert made.tools[0].show == "fit"


def test_a_tools_results_are_shown_as_the_stricter_rule_says() -> None:
    summary = ToolRule("hr_*", show="always_summary")
    for tenants, sessions, shown in [
        ((summary,), (), {"hr_read": 0, "web": None}),
        ((summary,), (ToolRule("hr_read", show="up_to:9"),), {"hr_read": 0, "hr_list": 0}),
        ((summary,), (ToolRule("*", keep=("a",), show="up_to:9"),), {"hr_read": 0, "web": 9}),
        ((summary,), (ToolRule("hr_read", passthrough=True),), {"hr_read": 0}),
        ((summary,), (ToolRule("web", show="up_to:9"),), {"hr_read": 0, "web": 9}),
        ((ToolRule("*", show="up_to:9"),), (ToolRule("web", show="up_to:5"),), {"web": 5, "x": 9}),
        ((ToolRule("*", threshold=9),), (ToolRule("web", threshold=99),), {"web": 9, "x": 9}),
        ((ToolRule("hr_list"), summary), (), {"hr_read": 0, "hr_list": None}),
    ]:
        made = combined(rules(tools=tenants), rules(tools=sessions)).firewall
        assert {name: shown_up_to(made, name) for name in shown} == shown
        kept = {name: rule_for(FirewallRules(tools=sessions), name) for name in shown}
        assert all(now is None or rule_for(made, name).keep == now.keep  # type: ignore[union-attr]
                   for name, now in kept.items())  # fmt: skip


def test_tools_of_no_rule_are_shown_as_the_stricter_default_says() -> None:
    exempt = rules(show="always_summary", tools=(ToolRule("web", show="fit"),))
    for sessions in (rules(), rules(show="up_to:9"), rules(tools=(ToolRule("web"),))):
        made = combined(exempt, sessions).firewall
        assert shown_up_to(made, "other") == 0
        assert shown_up_to(made, "web") == (9 if sessions.firewall.show == "up_to:9" else None)
    assert combined(rules(threshold=9), rules(threshold=5)).firewall.show is msgspec.UNSET


def test_a_phase_shows_no_more_items_of_a_kind_than_either_says() -> None:
    facts, plans, turns = ItemKind.MEMORY_FACT, ItemKind.PLAN_STATE, ItemKind.USER_TURN

    def limits(**of: int) -> ContextPolicy:
        made = {ItemKind[name]: most for name, most in of.items()}
        return ContextPolicy(phases={Phase.ANSWER: PhaseRule((plans, turns), limits=made)})

    for tenants, sessions, least in [
        (limits(PLAN_STATE=0), limits(), {plans: 0}),
        (limits(PLAN_STATE=2), limits(PLAN_STATE=1, USER_TURN=3), {plans: 1, turns: 3}),
        (limits(PLAN_STATE=1), limits(PLAN_STATE=2), {plans: 1}),
        (limits(MEMORY_FACT=0), limits(MEMORY_FACT=4), {facts: 4}),  # which it does not show
    ]:
        assert phase_rule(combined(tenants, sessions), Phase.ANSWER).limits == least


@pytest.mark.parametrize("field", ["fact_tokens", "episode_tokens", "header_share"])
def test_memory_has_the_smaller_share_of_a_prompt(field: str) -> None:
    def memory(most: float) -> ContextPolicy:
        return ContextPolicy(memory=MemoryRules(**{field: most}))  # type: ignore[arg-type]

    for tenants, sessions, least in [(0, 0.1, 0), (0.1, 0, 0), (0.1, 0.1, 0.1)]:
        made = combined(memory(tenants), memory(sessions))
        assert getattr(made.memory, field) == least
        told = (f"memory.{field}",) if tenants < sessions else ()
        assert overruled(memory(sessions), memory(tenants)) == told


def test_what_budgets_alone_would_show_again_is_named() -> None:
    tenants = ContextPolicy(
        phases={Phase.ANSWER: PhaseRule(tuple(ItemKind), limits={ItemKind.PLAN_STATE: 0})},
        memory=MemoryRules(fact_tokens=0),
        firewall=FirewallRules(show="up_to:9", tools=(ToolRule("hr_*", show="always_summary"),)),
    )
    mine = ContextPolicy("mine", "s1", ContextBudget(answer=5_000))
    said = ("phases.limits", "memory.fact_tokens", "firewall.tools", "firewall.show")
    assert overruled(mine, tenants) == said


def some(*of: T) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(st.sampled_from(of), max_size=3, unique=True).map(tuple)


shows = st.sampled_from(["fit", "up_to:5", "up_to:9", "always_summary", msgspec.UNSET])
levels = st.sampled_from([None, *Sensitivity])
globs = st.sampled_from([*GLOBS, "hr.pay*", "*.pay", "[hw]*"])
most = st.sampled_from([None, 7])
tools = st.builds(ToolRule, globs, threshold=most, sensitivity=levels, show=shows)
free = st.builds(ToolRule, st.sampled_from(GLOBS), passthrough=st.just(True))
signals = st.builds(SignalRule, st.sampled_from(["*", "injection:*"]),
                    st.sampled_from(SignalAction), st.sampled_from([0.0, 3.0]))  # fmt: skip
kinds = (ItemKind.USER_TURN, ItemKind.PLAN_STATE, ItemKind.TOOL_RESULT)
limits = st.dictionaries(st.sampled_from(kinds), st.integers(0, 2))
phases = st.dictionaries(st.sampled_from(Phase), st.builds(PhaseRule, some(*kinds), limits=limits))
firewalls = st.builds(
    FirewallRules,
    threshold=st.sampled_from([7, 1_500]),
    untrusted_kinds=some(*kinds),
    tools=st.lists(tools | free, max_size=4).map(tuple),
    show=shows,
    actions=st.just(msgspec.UNSET) | st.lists(signals, max_size=3).map(tuple),
)
share = st.sampled_from([0.0, 0.1, 0.15])
policies = st.builds(
    ContextPolicy,
    budgets=st.builds(ContextBudget, answer=st.integers(0, 9)),
    phases=phases,
    sensitivity_floor=st.sampled_from(Sensitivity),
    sensitivity_action=st.sampled_from(SensitivityAction),
    redaction_hook=st.sampled_from(["mask", "names"]),
    memory=st.builds(MemoryRules, st.integers(0, 2), st.integers(0, 2), share),
    firewall=firewalls,
)


@settings(max_examples=300, deadline=None)
@given(policies, policies)
def test_any_sessions_policy_only_tightens_any_tenants(
    tenants: ContextPolicy, sessions: ContextPolicy
) -> None:
    made = combined(tenants, sessions)
    assert loosened(tenants, made) == ()
    assert combined(tenants, made) == made
    assert made.budgets == sessions.budgets
    for name in TOOLS[:-1]:
        was = shown_up_to(sessions.firewall, name)
        assert was is None or shown_up_to(made.firewall, name) in range(was + 1)
        for one in (tenants, sessions):
            rule, now = rule_for(one.firewall, name), rule_for(made.firewall, name)
            if rule and rule.sensitivity:
                assert now is not None
                assert now.sensitivity is not None
                assert now.sensitivity.level >= rule.sensitivity.level


def test_what_is_flagged_is_dropped_as_the_tenant_says_or_more_strictly() -> None:
    tenants, injected = rules(actions=(drops("injection:*"),)), Signal("injection", "order", 4.0)
    for mine in ((), (SignalRule("injection:*", SignalAction.FENCE),)):
        made = combined(tenants, rules(actions=mine)).firewall
        assert action_on(made, [injected]) is SignalAction.DROP
    secret = Signal("secret", "key", 1.0)
    made = combined(tenants, rules(actions=(drops("secret:*"),))).firewall
    assert [action_on(made, [one]) for one in (injected, secret)] == [SignalAction.DROP] * 2


def test_the_version_is_the_newer_sequence_and_alone_a_policy_is_itself() -> None:
    one, other = (3, ContextPolicy("all")), (2, MINE)
    assert in_force(None, None) == (0, ContextPolicy())
    assert in_force(one, None) is one
    assert in_force(None, other) is other
    assert in_force(one, other) == (3, MINE)
    assert in_force((1, one[1]), other) == (2, MINE)


def test_it_is_the_same_of_policies_as_they_are_stored() -> None:
    strict = ContextPolicy(sensitivity_floor=INTERNAL)
    stored = [("", 3, msgspec.json.encode(strict)), ("s1", 2, msgspec.json.encode(MINE))]
    for rows in (stored, stored[::-1]):
        assert encoded_in_force(rows) == in_force((3, strict), (2, MINE))
    assert encoded_in_force(stored[1:]) == (2, MINE)
    assert encoded_in_force([]) == (0, ContextPolicy())


def test_no_phase_loses_its_rule() -> None:
    made = combined(shown(ItemKind.USER_TURN), MINE)
    for phase in (Phase.ROUTE, Phase.CALL, Phase.INTERPRET):
        assert phase_rule(made, phase) == phase_rule(MINE, phase)
