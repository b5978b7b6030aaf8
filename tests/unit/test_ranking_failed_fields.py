"""The fields that the newest failure names, and the results that have a value for them."""

import json

import pytest
from tests.session_view import ListView

from weft.compiler.candidates.closure import Group, dependency_closure
from weft.compiler.compile import compile_pack
from weft.compiler.ledger import Ledger
from weft.compiler.profiles import FOCUS_SHARED
from weft.compiler.ranking.failed_fields import field_places, fields_of_failure
from weft.compiler.ranking.named_parts import MAX_HEADS
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

CONTRACT = {"id": "K-7", "days": 30, "order_number": "HP-77", "flags": {"order_required": True}}
OTHER = {"id": "K-8", "days": 45, "flags": {"order_required": False}}
FAILED = {"ok": False, "error": {"code": "E_INPUT", "path": "header.order_number"}, "id": "r-1"}


def call(number: int, arguments: dict[str, object], result: object) -> list[ContextItem]:
    named = {"tool_name": "run", "arguments": arguments}
    text = result if isinstance(result, str) else json.dumps(result)
    return [
        ContextItem(f"c{number}", ItemKind.TOOL_CALL, "", metadata=named),
        ContextItem(f"r{number}", ItemKind.TOOL_RESULT, text, f"c{number}"),
    ]


def groups_of(*results: object) -> tuple[Group, ...]:
    items = [item for at, result in enumerate(results) for item in call(at, {"n": at}, result)]
    view = ListView(items)
    return dependency_closure(view, view.recent(len(items)), Ledger())


def given(*results: object) -> dict[str, list[str]]:
    """By id of a result, what it says of the fields that the last of these results names."""
    groups = groups_of(*results)
    rows = {row.sequence: row for group in groups for row in group.rows}
    found = field_places(groups, fields_of_failure(groups))
    return {
        rows[at].id: [rows[at].readable[place:].partition(",")[0] for place in sorted(places)]
        for at, places in found.items()
    }


@pytest.mark.parametrize(
    ("error", "fields"),
    [
        (json.dumps(FAILED), {"order_number"}),
        ("Error: missing required argument: due_date", {"due_date"}),
        ("Input validation error: 'labels' is a required property", {"labels"}),
        ("Validation error: items[0].unitPrice is required", {"unitPrice"}),
        ("KeyError: 'created_at'", {"created_at"}),
        ("Error: content=[Text(type='text', text='no such page')] isError=True", set()),
        ('{"isError": true, "content": [{"type": "text", "text": "no such page"}]}', set()),
        ("Error: see src/take_it.py and https://a.example/of_it for all", set()),
    ],
)
def test_a_failure_names_fields_besides_its_own(error: str, fields: set[str]) -> None:
    assert fields_of_failure(groups_of(CONTRACT, error)) == fields
    assert not fields_of_failure(groups_of(error, CONTRACT))


def test_the_results_that_have_a_value_for_the_field_are_found() -> None:
    assert given(CONTRACT, OTHER, FAILED) == {"r0": ['order_number": "HP-77"']}
    assert given("order_number: HP-77", OTHER, FAILED) == {"r0": ["order_number: HP-77"]}


@pytest.mark.parametrize("value", [None, "", [], {"type": "string"}])
def test_an_empty_field_and_the_schema_of_one_are_no_value(value: object) -> None:
    assert given({"order_number": value}, FAILED) == {}


def test_of_several_fields_the_one_that_fewest_results_have_counts() -> None:
    error = "Error: order_number is missing, since order_required is set"
    assert given(CONTRACT, OTHER, error) == {"r0": ['order_number": "HP-77"']}


def test_a_field_that_many_results_have_tells_nothing() -> None:
    many = [{"id": f"K-{n}", "order_number": f"HP-{n}"} for n in range(FOCUS_SHARED + 1)]
    assert given(*many, FAILED) == {}


def test_a_result_with_the_field_in_each_of_its_records_tells_nothing() -> None:
    many = [{"id": f"K-{n}", "order_number": f"HP-{n}"} for n in range(MAX_HEADS + 1)]
    assert given(many, FAILED) == {}
    assert len(given(many[1:], FAILED)["r0"]) == MAX_HEADS


def test_the_value_of_the_field_is_shown_before_newer_results() -> None:
    text = "The clause holds until it is ended, and says nothing of orders or of their numbers. "
    contract = {**CONTRACT, **{f"clause_{n}": text for n in range(12)}}
    others = [{"id": f"K-{n}", **{f"part_{m}": text for m in range(4)}} for n in range(10, 30)]
    items = [
        ContextItem("u0", ItemKind.USER_TURN, "Please bill the hours of November."),
        *call(1, {"read": "K-7"}, contract),
        *(item for n, one in enumerate(others, 2) for item in call(n, {"read": n}, one)),
        *call(90, {"draft": {"hours": 14.5, "project": "P-1"}}, FAILED),
    ]
    prompt = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=500)).pack.prompt
    assert "order_number: HP-77" in prompt
