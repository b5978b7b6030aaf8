"""What parts are worth to a step that copies values."""

import pytest
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft.compiler.ranking.values import stated_value, values, written_value
from weft.compiler.ranking.worth import (
    ASKED_FIELD,
    WRITTEN,
    asked_fields,
    new_worth,
    prose_factor,
    standing,
    worth,
)
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


def test_a_name_of_hyphenated_words_is_a_value_and_a_lower_case_word_is_none() -> None:
    found = values("tool_name: get-current-date … returns the date, or -- if none is known - 0")
    assert found.keys() >= {"tool_name", "get-current-date"}
    assert found.keys().isdisjoint({"returns", "--", "-", "known"})


@pytest.mark.parametrize(
    "text",
    [
        "Mode is 'rewrite' or 'append', see below",
        'Mode is "rewrite" or "append", see below',
        "Mode is `rewrite` or `append`, see below",
        r"{\\n \\'mode\\': one of (\\'rewrite\\', \\'append\\')}",
    ],
)
def test_words_in_quotes_are_values_unless_they_are_keys(text: str) -> None:
    found = values(text)
    assert found.keys() >= {"rewrite", "append"}
    assert found.keys().isdisjoint({"mode", "one", "below"})


@pytest.mark.parametrize("text", ["I don't think it's theirs", "the dogs' lead, the cats' tail"])
def test_an_apostrophe_quotes_nothing(text: str) -> None:
    assert values(text) == {}


@pytest.mark.parametrize(
    ("text", "field"),
    [("JFK=New York", "JFK"), ("- JFK: New York", "JFK"), ("address1=9 Elm St", "address1")],
)
def test_the_name_of_a_field_is_no_value_of_it(text: str, field: str) -> None:
    assert field not in worth(text, field).values


def test_a_name_with_an_underscore_counts_and_a_word_in_prose_does() -> None:
    assert worth("flight_number=HAT023", "flight_number").values.keys() >= {
        "flight_number",
        "HAT023",
    }
    assert "JFK" in worth("He flies from JFK", "").values


def test_a_value_that_holds_its_fields_name_is_stated_whole() -> None:
    assert stated_value("id=valid_idle_7", "id") == "valid_idle_7"
    assert written_value("day=Monday to Sunday", "day") == "Monday to Sunday"


def test_a_value_that_is_stated_already_is_worth_little_more() -> None:
    part = worth("seat=12A", "seat")
    assert new_worth(part, {}) == part.total > 0
    assert new_worth(part, {"12A": 1}) < part.total / 10


def test_what_calls_ask_for_is_kept_where_little_fits() -> None:
    noise = ", ".join(f'"note_{n}": "N{n:03d}X"' for n in range(60))
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
    request = CompileRequest(Phase.CALL, budget=120, tools=(tool,), tool="cancel")
    assert "QRST77" in compile_pack(ListView(items), request).pack.prompt


def test_a_sentence_of_a_long_argument_counts_less_than_a_field_and_than_a_result() -> None:
    (row,) = ListView([call("write", {"content": "x"})]).recent(1)
    assert standing("", {"content"}, prose_factor(row)) == WRITTEN < 1.0
    assert standing("content", {"content"}, prose_factor(row)) == ASKED_FIELD
    assert standing("path", {"content"}, prose_factor(row)) == 1.0
    (said,) = ListView([ContextItem("m", ItemKind.AGENT_MSG, "Order R1X.")]).recent(1)
    assert standing("", (), prose_factor(said)) == 1.0


def test_a_report_that_the_agent_wrote_does_not_displace_what_it_found() -> None:
    report = " ".join(
        f"Section S{n:03d}X has the ref R{n:03d}Y and the code C{n}Z." for n in range(60)
    )
    items = [
        call("find", {"name": "mia"}),
        ContextItem("r", ItemKind.TOOL_RESULT, '{"ticket": "TCK901"}', "c-find"),
        call("write", {"content": report, "path": "/tmp/report.md"}),
        ContextItem("w", ItemKind.TOOL_RESULT, '{"written": true}', "c-write"),
    ]
    prompt = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=150)).pack.prompt
    assert "TCK901" in prompt
    assert "/tmp/report.md" in prompt
