"""A session made ready to choose from, as the stages before selection leave it."""

from __future__ import annotations

from collections.abc import Sequence

from tests.session_view import ListView
from weft.compiler import selection_input
from weft.compiler.compile import (
    _apply_phase_rules,
    _apply_sensitivity,
    _candidates,
    _group_calls,
    _rank,
)
from weft.compiler.selection.choice import Choice
from weft.compiler.state import State
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem
from weft_schemas.policy import Phase


def ready(items: Sequence[ContextItem], budget: int, phase: Phase = Phase.CALL) -> State:
    """The state before the selection of a request with this budget."""
    state = _candidates(ListView(items), CompileRequest(phase, budget=budget), b"", None)
    for stage in (_group_calls, _apply_sensitivity, _apply_phase_rules, _rank):
        stage(state)
    return state


def choice_of(items: Sequence[ContextItem], budget: int, phase: Phase = Phase.CALL) -> Choice:
    """What there is to choose from."""
    return selection_input.choice_of(ready(items, budget, phase))
