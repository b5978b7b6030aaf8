"""What parts are worth to a step that copies values."""

import pytest
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft.compiler.profiles import ASKED_FIELD, FIELD_WEIGHT
from weft.compiler.ranking.value_weights import (
    Coverage,
    asked_fields,
    value_weights,
)
from weft.compiler.ranking.values import values
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase


def call(name: str, arguments: dict[str, object]) -> ContextItem:
    metadata = {"tool_name": name, "arguments": arguments}
    return ContextItem(f"c-{name}", ItemKind.TOOL_CALL, f"{name}()", metadata=metadata)


@pytest.mark.parametrize("field", ["reservation_id", "reservations", "reservation", "zip"])
def test_a_field_is_asked_by_its_name_and_by_the_name_of_what_it_identifies(field: str) -> None:
    (row,) = ListView([call("get", {"reservation_id": "X1", "where": {"zip": "1"}})]).recent(1)
    assert field in asked_fields([row])
    assert "flight" not in asked_fields([row])


def test_a_parameter_of_the_chosen_tool_is_asked_before_any_call_filled_it() -> None:
    assert {"seat_id", "seats"} <= asked_fields([], ["seat_id"])


NOTHING = frozenset[str]()


def test_the_one_word_that_a_field_states_counts_and_its_name_does_not() -> None:
    found = value_weights('{"PAID": true, "R7": "x9"}', NOTHING)
    assert found["true"] == FIELD_WEIGHT
    assert found.keys().isdisjoint({"PAID", "R7"})


def test_the_value_of_a_field_that_is_asked_for_counts_more() -> None:
    text = '{"ticket": "TCK901", "other": "TCK902", "tickets": ["TCK903"]}'
    found = value_weights(text, frozenset({"ticket", "tickets"}))
    assert found["TCK901"] == found["TCK903"] == ASKED_FIELD * found["TCK902"]


TOOLS = """tools:
- server: calendar
  tool_name: 'list_events'
  description: List all of a day's events
- server: calendar
  tool_name: add_event
"""


def test_fields_that_are_lines_count_as_those_of_json() -> None:
    found = value_weights(TOOLS, frozenset({"tool_name"}))
    assert found["list_events"] == found["add_event"] == ASKED_FIELD * values("a_b")["a_b"]
    assert found["calendar"] == FIELD_WEIGHT
    assert "tool_name" not in found
    assert "tool_name" in value_weights(TOOLS, NOTHING)  # a call may ask for it


def test_a_list_that_is_asked_for_counts_without_other_fields_beside_it() -> None:
    found = value_weights('"tickets": ["TCK901"]', frozenset({"tickets"}))
    assert found["TCK901"] == ASKED_FIELD * values("TCK901")["TCK901"]


def test_a_value_that_several_records_state_counts_with_each_of_them() -> None:
    once = value_weights('{"day": "2024-05-01"}', frozenset({"day"}))["2024-05-01"]
    text = ", ".join(['{"day": "2024-05-01"}'] * 3)
    assert value_weights(text, frozenset({"day"}))["2024-05-01"] == pytest.approx(3 * once)


def test_a_value_that_is_stated_already_is_worth_little_more() -> None:
    part = value_weights("the seat 12A", NOTHING)
    coverage = Coverage({})
    assert coverage.gain(part) == sum(part.values()) > 0
    once = Coverage({"12A": 1}).gain(part)
    assert Coverage({"12A": 2}).gain(part) < once < sum(part.values()) / 3
    coverage.add(part)
    assert coverage.gain(part) == once


def test_what_calls_ask_for_is_kept_where_little_fits() -> None:
    noise = ", ".join(f'"note_{n}": "N{n:03d}X"' for n in range(12))
    result = ContextItem(
        "r",
        ItemKind.TOOL_RESULT,
        f'{{{noise}, "reservations": ["QRST77"]}}',
        "c-get_user",
    )
    items = [call("get_user", {"user_id": "mia"}), result]
    items += [
        ContextItem(f"m{n}", ItemKind.AGENT_MSG, f"Looking at it, step {n}.") for n in range(9)
    ]
    tool = {"name": "cancel", "parameters": {"properties": {"reservation_id": {"type": "string"}}}}
    request = CompileRequest(Phase.CALL, budget=250, tools=(tool,), tool="cancel")
    assert "QRST77" in compile_pack(ListView(items), request).pack.prompt


def test_a_timestamp_is_no_identifier() -> None:
    assert values("2024-05-01T22:16:21")["2024-05-01T22:16:21"] < values("2024-05-01")["2024-05-01"]


def test_a_value_with_escaped_quotes_is_one_of_its_field() -> None:
    weights = value_weights('"etag": "\\"3513861915025345\\"", "id": "e-1"', frozenset({"etag"}))
    assert weights["3513861915025345"] > weights["e-1"]
