"""The floor: dropped with what needs it, or masked before any later stage."""

from tests.session_view import ListView

from weft.compiler.candidates.closure import dependency_closure
from weft.compiler.candidates.sensitivity import WITHHELD, apply_floor
from weft.compiler.compile import compile_pack
from weft.compiler.ledger import Ledger
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, Phase, SensitivityAction

SECRET = "the launch code is swordfish"
REDACT = ContextPolicy(sensitivity_action=SensitivityAction.REDACT)


def session(level: Sensitivity) -> list[ContextItem]:
    return [
        ContextItem("u", ItemKind.USER_TURN, "What is the code?"),
        ContextItem("c", ItemKind.TOOL_CALL, "", metadata={"tool_name": "f", "arguments": {}}),
        ContextItem("r", ItemKind.TOOL_RESULT, SECRET, "c", sensitivity=level),
    ]


def reasons(items: list[ContextItem], policy: ContextPolicy) -> dict[str, str]:
    view, ledger = ListView(items), Ledger()
    apply_floor(dependency_closure(view, view.recent(9), ledger), policy, ledger)
    return {drop.item_id: drop.reason for drop in ledger.dropped}


def test_levels_at_the_floor_are_dropped() -> None:
    for level in Sensitivity:
        found = reasons(session(level), ContextPolicy())
        assert found == ({"r": "sensitivity"} if level.reaches(Sensitivity.CONFIDENTIAL) else {})


def test_a_call_whose_result_is_withheld_is_still_told() -> None:
    """Or the agent would make it again."""
    made = compile_pack(ListView(session(Sensitivity.RESTRICTED)), CompileRequest(Phase.ANSWER))
    assert f"call: f({{}})\nresult: ({WITHHELD})" in made.pack.prompt


def test_the_results_of_a_call_at_the_floor_are_dropped_with_it() -> None:
    items = session(Sensitivity.PUBLIC)
    metadata = {"tool_name": "f", "arguments": {}}
    items[1] = ContextItem(
        "c", ItemKind.TOOL_CALL, "", metadata=metadata, sensitivity=Sensitivity.RESTRICTED
    )
    assert reasons(items, ContextPolicy()) == {"c": "sensitivity", "r": "orphan"}


def test_no_trace_of_a_dropped_text_is_anywhere_in_the_pack() -> None:
    made = compile_pack(ListView(session(Sensitivity.RESTRICTED)), CompileRequest(Phase.ANSWER))
    for seen in (repr(made.pack), repr(made.audit), repr(made.scores)):
        assert "swordfish" not in seen
    assert made.pack.stats.dropped_reasons == {"sensitivity": 1}


def test_redaction_shows_the_level_and_keeps_the_place() -> None:
    made = compile_pack(
        ListView(session(Sensitivity.CONFIDENTIAL), policy=REDACT), CompileRequest(Phase.ANSWER)
    )
    assert "[REDACTED: confidential]" in made.pack.prompt
    assert "swordfish" not in repr(made)
    assert made.pack.stats.included_items == ("u", "c", "r")


def test_a_redacted_call_hides_its_arguments_too() -> None:
    items = session(Sensitivity.PUBLIC)
    items[1] = ContextItem(
        "c",
        ItemKind.TOOL_CALL,
        f"f({SECRET})",
        metadata={"tool_name": "f", "arguments": {"text": SECRET}},
        sensitivity=Sensitivity.RESTRICTED,
    )
    items[2] = ContextItem("r", ItemKind.TOOL_RESULT, "done", "c")
    made = compile_pack(ListView(items, policy=REDACT), CompileRequest(Phase.CALL))
    assert "swordfish" not in repr(made)
