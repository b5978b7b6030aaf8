"""A policy against the one in force: every field is judged, and what shows more is found."""

import itertools

import pytest

from weft_schemas.items import ItemKind, Sensitivity
from weft_schemas.loosening import FIELDS, fields_of, loosened
from weft_schemas.policy import (
    ContextBudget,
    ContextPolicy,
    FirewallRules,
    MemoryRules,
    Phase,
    PhaseRule,
    SelectionRules,
    SensitivityAction,
    SignalAction,
    SignalRule,
    SummaryRules,
    ToolRule,
    shown_up_to,
)

USERS = (ItemKind.USER_TURN,)


def test_every_field_of_a_policy_is_classified() -> None:
    assert set(fields_of(ContextPolicy)) == set(FIELDS)


def rules(**fields: object) -> ContextPolicy:
    return ContextPolicy(firewall=FirewallRules(**fields))  # type: ignore[arg-type]


def phases(**fields: object) -> ContextPolicy:
    return ContextPolicy(phases={Phase.CALL: PhaseRule(**{"kinds": USERS, **fields})})  # type: ignore[arg-type]


REDACTS = SensitivityAction.REDACT
ORDERED = {
    "sensitivity_floor": [ContextPolicy(sensitivity_floor=level) for level in Sensitivity],
    "sensitivity_action": [ContextPolicy(), ContextPolicy(sensitivity_action=REDACTS)],
    "redaction_hook": [
        ContextPolicy(sensitivity_action=REDACTS),
        ContextPolicy(sensitivity_action=REDACTS, redaction_hook="names"),
    ],
    "firewall.untrusted_kinds": [
        rules(untrusted_kinds=tuple(ItemKind)),
        rules(untrusted_kinds=(ItemKind.TOOL_RESULT, ItemKind.DOC_SNIPPET)),
        rules(),
        rules(untrusted_kinds=()),
    ],
    "firewall.actions.signal": [
        rules(actions=(SignalRule("injection:*", SignalAction.DROP),)),
        rules(actions=(SignalRule("injection:*", SignalAction.REDACT),)),
        rules(),
    ],
    "phases.kinds": [phases(kinds=()), phases(), ContextPolicy()],
    "phases.limits": [
        phases(limits={ItemKind.USER_TURN: 1}),
        phases(limits={ItemKind.USER_TURN: 2}),
        phases(),
    ],
    "memory.fact_tokens": [
        ContextPolicy(memory=MemoryRules(fact_tokens=most)) for most in (0, 119, 120)
    ],
    "memory.episode_tokens": [
        ContextPolicy(memory=MemoryRules(episode_tokens=most)) for most in (0, 1, 160)
    ],
    "memory.header_share": [
        ContextPolicy(memory=MemoryRules(header_share=most)) for most in (0.0, 0.1, 0.15)
    ],
    "firewall.show": [
        rules(show="always_summary"),
        rules(show="up_to:10"),
        rules(threshold=100),
        rules(),
    ],
}
"""Path → policies, each of which shows more than the ones before it."""


def test_what_is_judged_is_ordered_here() -> None:
    assert set(ORDERED) == {path for path, judge in FIELDS.items() if not isinstance(judge, str)}


@pytest.mark.parametrize("path", ORDERED)
def test_tightening_is_free_and_loosening_is_told(path: str) -> None:
    for tight, loose in itertools.combinations(ORDERED[path], 2):
        assert any(one.startswith(f"{path}: ") for one in loosened(tight, loose))
        assert not any(one.startswith(f"{path}: ") for one in loosened(loose, tight))
    for one in ORDERED[path]:
        assert loosened(one, one) == ()


def test_what_shows_nothing_more_is_free() -> None:
    other = ContextPolicy(
        name="mine",
        budgets=ContextBudget(9_000, 9_000, 9_000, 9_000),
        selection=SelectionRules(1, 2, 3, 0.1),
        summaries=SummaryRules(1, 2, 3),
    )
    assert loosened(ContextPolicy(), other) == ()


def test_a_hook_that_nothing_is_given_to_shows_nothing() -> None:
    assert loosened(ContextPolicy(), ContextPolicy(redaction_hook="names")) == ()


GLOBS = ("*", "hr.*", "hr.pay*", "hr.pay", "web", "?eb", "[hw]*")
NAMES = (None, "", "hr", "hr.", "hr.pay", "hr.payroll", "hr.leave", "web", "deb", "other", "h*")
SHOWS = ("always_summary", "up_to:9", "fit")


def test_no_tools_result_is_shown_beyond_its_limit() -> None:
    """Whatever the globs: where nothing is told, no name has more than before."""
    one = [ToolRule(glob, show=show) for glob in GLOBS for show in SHOWS]
    made = [rules(show=show) for show in SHOWS]
    made += [rules(tools=(rule,), show=show) for rule in one for show in SHOWS[::2]]
    made += [
        rules(tools=pair) for pair in itertools.islice(itertools.permutations(one, 2), 0, None, 7)
    ]
    free = 0
    for in_force, other in itertools.product(made[::3], made[1::2]):
        if loosened(in_force, other):
            continue
        free += 1
        for name in NAMES:
            was, now = (shown_up_to(policy.firewall, name) for policy in (in_force, other))
            assert was is None or (now is not None and now <= was), (in_force, other, name)
    assert free > 100


@pytest.mark.parametrize(
    "tools",
    [
        (ToolRule("web", show="always_summary"), ToolRule("hr.*", show="up_to:9")),
        (ToolRule("hr.pay", show="always_summary"), ToolRule("hr.*", show="up_to:9")),
        (ToolRule("hr.*", show="up_to:9"), ToolRule("web", show="fit")),
        (ToolRule("*", show="up_to:9"),),
        (ToolRule("hr.*", keep=("a",), show="up_to:8"),),
    ],
)
def test_rules_that_only_tighten_are_known_as_such(tools: tuple[ToolRule, ...]) -> None:
    in_force = rules(tools=(ToolRule("hr.*", show="up_to:9"),))
    assert loosened(in_force, rules(tools=tools)) == ()
