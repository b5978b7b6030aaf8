"""Every number of a request and of a policy has a range, and every text a length."""

import math
import types
import typing
from typing import Any, Union

import msgspec
import pytest
from tests.folded import model

from weft.compiler.compile import compile_pack
from weft_schemas.compile import CompileRequest, DrilldownRequest, ExplainRequest
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import (
    ContextPolicy,
    FirewallRules,
    MemoryRules,
    Phase,
    PhaseRule,
    SelectionRules,
    SignalAction,
    SignalRule,
    ToolRule,
)
from weft_schemas.ranges import check_ranges, clamped
from weft_schemas.routing import ChoiceRequest, HydrateRequest, RouteRequest
from weft_schemas.status import StatusRequest

REQUESTS = (
    CompileRequest(Phase.ANSWER),
    DrilldownRequest("art:x"),
    ExplainRequest("r0", CompileRequest(Phase.ANSWER)),
    RouteRequest("logs", "c"),
    HydrateRequest("logs", "c"),
    ChoiceRequest("x", "logs"),
    StatusRequest(),
    ContextPolicy(),
)


def kinds(annotation: Any) -> set[type]:
    """The plain types that a field may hold."""
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is Union:
        return set().union(*(kinds(one) for one in typing.get_args(annotation)))
    return {annotation} if isinstance(annotation, type) else set()


def spoilt() -> list[tuple[msgspec.Struct, str]]:
    """Each request with one field beyond anything sensible, and the path to it."""
    found = []
    for request in REQUESTS:
        for path, rules in [("", request), *_rules_of(request)]:
            hints = typing.get_type_hints(type(rules))
            for field in rules.__struct_fields__:
                for bad in _bad(kinds(hints[field])):
                    try:
                        changed = msgspec.structs.replace(rules, **{field: bad})
                    except ValueError:
                        continue  # cannot even be made
                    whole = (
                        changed if not path else msgspec.structs.replace(request, **{path: changed})
                    )
                    found.append((whole, f"{field} = {bad!r:.20}"))
    return found


def _rules_of(request: msgspec.Struct) -> list[tuple[str, msgspec.Struct]]:
    held = ((name, getattr(request, name)) for name in request.__struct_fields__)
    return [(name, one) for name, one in held if isinstance(one, msgspec.Struct)]


def _bad(plain: set[type]) -> list[object]:
    bad: list[object] = []
    if int in plain:
        bad += [2**63, -(2**63), 2**200]
    if float in plain:
        bad += [1e300, -1.0, math.nan, math.inf]
    if str in plain:
        bad += ["x" * 1_000_000]
    return bad


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda one: type(one).__name__)
def test_what_is_usual_is_in_range(request_: msgspec.Struct) -> None:
    check_ranges(request_, "request")


@pytest.mark.parametrize(("request_", "what"), spoilt(), ids=lambda one: str(one)[:40])
def test_no_field_is_without_a_range(request_: msgspec.Struct, what: str) -> None:
    with pytest.raises(InvalidInput, match="give"):
        check_ranges(request_, "request")


@pytest.mark.parametrize(
    "policy",
    [
        ContextPolicy(selection=SelectionRules(neighbours=2**31)),
        ContextPolicy(phases={Phase.CALL: PhaseRule((), {ItemKind.POLICY: math.nan})}),
        ContextPolicy(phases={Phase.CALL: PhaseRule((), {}, {ItemKind.POLICY: 2**62})}),
    ],
)
def test_what_lies_deeper_has_a_range_too(policy: ContextPolicy) -> None:
    with pytest.raises(InvalidInput, match=r"\$\.policy\.(selection|phases)"):
        check_ranges(CompileRequest(Phase.CALL, policy=policy), "compile request")


def test_an_argument_of_a_view_has_a_length() -> None:
    for args in ({"pattern": "a" * 5_000}, {"start": 2**70}, {"x" * 5_000: 1}, {"a": -1e300}):
        with pytest.raises(InvalidInput):
            check_ranges(DrilldownRequest("art:x", args=args), "drilldown request")


def test_numbers_of_a_policy_that_an_older_release_let_in_are_clamped() -> None:
    wild = ContextPolicy(
        selection=SelectionRules(neighbours=2**31, matches=-5),
        memory=MemoryRules(header_share=7.5),
        phases={Phase.CALL: PhaseRule((ItemKind.USER_TURN,), limits={ItemKind.USER_TURN: -1})},
        firewall=FirewallRules(tools=(ToolRule("a", threshold=2**40),)),
    )
    turn = ContextItem("u", ItemKind.USER_TURN, "hello there")
    view = model(wild, turn).view("t", "s")
    policy = view.policy()[1]
    check_ranges(policy, "policy")
    assert (policy.selection.neighbours, policy.selection.matches) == (100, 0)
    assert policy.firewall.tools[0].threshold == 2_000_000
    for phase in Phase:
        assert compile_pack(view, CompileRequest(phase)).pack.stats.total_candidates == 1
    usual = ContextPolicy()
    assert clamped(usual) is usual


@pytest.mark.parametrize(
    "policy",
    [
        ContextPolicy(firewall=FirewallRules(tools=(ToolRule("*a" * 101),))),
        ContextPolicy(firewall=FirewallRules(tools=201 * (ToolRule("a*"),))),
        ContextPolicy(firewall=FirewallRules(actions=(SignalRule("[" * 201, SignalAction.DROP),))),
        ContextPolicy(firewall=FirewallRules(actions=201 * (SignalRule("*", SignalAction.DROP),))),
        ContextPolicy(memory=MemoryRules(results=("a" * 201,))),
        ContextPolicy(memory=MemoryRules(results=201 * ("a",))),
    ],
)
def test_globs_are_few_and_short(policy: ContextPolicy) -> None:
    """Each of a request's is held against all others and those in force: 200 of 1,000 characters
    took 76 seconds."""
    with pytest.raises(InvalidInput, match=r"give at most 200"):
        check_ranges(CompileRequest(Phase.ANSWER, policy=policy), "compile request")
    check_ranges(CompileRequest(Phase.ANSWER, tool="a" * 1_000), "compile request")
