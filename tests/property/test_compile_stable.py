"""Compiles on an earlier pack keep every invariant, and what stays, stays to the byte."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.compile_invariants import check_pack
from tests.property.test_compile_invariants import sessions
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft.readmodel.rows import FactRow
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, Sensitivity
from weft_schemas.policy import Phase

FACTS = [
    FactRow("session:s", f"setting_{n}", f"value {n}", n, 1, ("a",), Sensitivity.PUBLIC, "s")
    for n in range(30)
]


@settings(max_examples=37, suppress_health_check=[HealthCheck.too_slow])
@given(sessions(), st.sampled_from(list(Phase)), st.integers(0, 300), st.integers(0, 300))
def test_chains_of_packs_keep_the_invariants(
    session: tuple[list[ContextItem], list[str]], phase: Phase, budget: int, later: int
) -> None:
    items, pending = session
    base = None
    for count in range(1, len(items) + 1, 3):
        view = ListView(items[:count], pending=pending, facts=FACTS)
        request = CompileRequest(
            phase,
            budget=budget if count % 2 else later,
            stable_from=base.id if base else "unknown",
        )
        made = compile_pack(view, request, base=base)
        seen = [item.id for item in items[:count]]
        check_pack(made.pack, items[:count], [one for one in pending if one in seen])
        assert made == compile_pack(view, request, base=base)
        base = made.audit
