"""Every item of any session is explained, and the explanation agrees with the prompt."""

import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.property.test_compile_invariants import policies, requests, sessions
from tests.session_view import ListView

from weft.compiler.compile import Trace, traced_compile
from weft.compiler.explaining.item import explanation
from weft_schemas.compile import REASONS, RULES, CompileRequest
from weft_schemas.items import ContextItem
from weft_schemas.policy import ContextPolicy, Phase

SENTENCES = re.compile(r"(?:[A-Z][^\n]*\.)(?: [A-Z][^\n]*\.)*")


def check(trace: Trace, items: list[ContextItem]) -> None:
    pack = trace.made.pack
    dropped = {one.item_id: one.reason for one in pack.stats.dropped_items}
    for item in items:
        reply = explanation(item.id, trace)
        assert reply.included == (item.id in pack.stats.included_items)
        assert reply.candidate == (reply.included or item.id in dropped)
        assert SENTENCES.fullmatch(reply.detail), reply.detail
        if reply.included:
            assert (reply.reason, reply.rule in RULES) == ("included", True)
        else:
            assert not reply.rule
            assert reply.reason in (*REASONS, "no candidate")
        if isinstance(reply.rank, int):
            assert isinstance(reply.ranked, int)
            assert 0 < reply.rank <= reply.ranked


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(sessions(), policies, requests)
def test_every_item_is_explained(
    session: tuple[list[ContextItem], list[str]], policy: ContextPolicy, request: CompileRequest
) -> None:
    items, pending = session
    view = ListView(items, policy=policy, pending=pending)
    check(traced_compile(view, request, key=b"secret"), items)


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(sessions(), st.sampled_from(list(Phase)), st.integers(0, 300))
def test_every_item_of_a_prompt_that_goes_on_from_another_is_explained(
    session: tuple[list[ContextItem], list[str]], phase: Phase, budget: int
) -> None:
    items, pending = session
    base = None
    for count in range(1, len(items) + 1, 3):
        view = ListView(items[:count], pending=pending)
        request = CompileRequest(phase, budget=budget, stable_from=base.id if base else "unknown")
        trace = traced_compile(view, request, base=base)
        check(trace, items[:count])
        base = trace.made.audit
