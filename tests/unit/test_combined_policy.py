"""A session's own policy under its tenant's: the stricter value holds wherever something is
concealed, the session's everywhere else."""

from __future__ import annotations

import itertools

import msgspec
import pytest

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
    SensitivityAction,
    SignalAction,
    SignalRule,
    ToolRule,
    action_on,
    is_masked,
    phase_rule,
    rule_for,
)

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


def test_the_stricter_fields_are_fields_of_a_policy() -> None:
    assert set(FIELDS) >= STRICTER


@pytest.mark.parametrize("tenants", TENANTS)
@pytest.mark.parametrize("sessions", SESSIONS)
def test_a_sessions_policy_shows_nothing_that_the_tenants_conceals(
    tenants: ContextPolicy, sessions: ContextPolicy
) -> None:
    made = combined(tenants, sessions)
    assert not [one for one in loosened(tenants, made) if one.startswith(CONCEALING)]


@pytest.mark.parametrize("sessions", SESSIONS)
def test_a_sessions_policy_may_conceal_more(sessions: ContextPolicy) -> None:
    for tenants in [ContextPolicy(sensitivity_floor=RESTRICTED), *TENANTS]:
        made = combined(tenants, sessions)
        more = [one for one in loosened(sessions, made) if one.startswith(CONCEALING)]
        assert not more or tenants.firewall.actions  # whose rules come first


def test_everything_else_is_the_sessions() -> None:
    made = combined(ContextPolicy("all", memory=MemoryRules(fact_tokens=1)), MINE)
    assert made == MINE
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


def test_the_rules_about_tools_are_the_sessions_where_the_tenants_say_no_level() -> None:
    shows = rules(tools=(ToolRule("web", show="always_summary"),))
    assert combined(shows, MINE).firewall.tools == ()
    level = rules(tools=(ToolRule("web", show="always_summary", sensitivity=INTERNAL),))
    assert combined(level, MINE).firewall.tools == (ToolRule("web", sensitivity=INTERNAL),)


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
