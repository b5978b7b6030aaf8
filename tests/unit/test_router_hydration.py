"""Values for a tool's parameters: found by name, form and use, each with its source."""

from typing import Any

import pytest

from weft.firewall.without_log import firewall_result
from weft.readmodel.rows import ItemRow
from weft.router.hydration import hydrate, parameters
from weft_schemas.envelope import ExtractedFact, ResultEnvelope
from weft_schemas.items import ItemKind, Sensitivity
from weft_schemas.routing import HydrationResult, SelectableItem


def row(ordinal: int, kind: ItemKind, text: str = "", **fields: Any) -> ItemRow:
    fields = {"sensitivity": Sensitivity.PUBLIC, "metadata": {}, **fields}
    return ItemRow(
        ordinal + 1, ordinal, f"i{ordinal}", kind, text, 0, 1, None, published_ns=0, **fields
    )


def user(ordinal: int, text: str, **fields: Any) -> ItemRow:
    return row(ordinal, ItemKind.USER_TURN, text, **fields)


def call(ordinal: int, tool: str, **arguments: Any) -> ItemRow:
    metadata = {"tool_name": tool, "arguments": arguments}
    return row(ordinal, ItemKind.TOOL_CALL, metadata=metadata)


def hydrated(rows: list[ItemRow], query: str = "", **properties: Any) -> HydrationResult:
    tool = SelectableItem("book", "book", args_schema={"type": "object", "properties": properties})
    return hydrate(tool, rows, query, 9)


def values(result: HydrationResult, name: str) -> list[str]:
    return [candidate.value for candidate in result.values.get(name, ())]


def test_a_value_comes_with_its_source() -> None:
    result = hydrated([user(0, "My user ID is mia_li_3668.")], user_id={"type": "string"})
    (candidate,) = result.values["user_id"]
    assert (candidate.value, candidate.source) == ("mia_li_3668", "i0")
    assert result.used == ("i0",)
    assert result.sequence == 9


def test_a_field_of_a_result_fills_a_parameter_of_its_name() -> None:
    text = '{"reservation": {"reservation_id": "AB12", "origin": "JFK"}}'
    rows = [row(0, ItemKind.TOOL_RESULT, text)]
    result = hydrated(rows, reservation_id={"type": "string"}, origin={"type": "string"})
    assert values(result, "reservation_id")[0] == "AB12"
    assert values(result, "origin")[0] == "JFK"


def test_an_envelopes_facts_are_used() -> None:
    envelope = ResultEnvelope("short", facts=(ExtractedFact("order.order_id", "W-1", "i0"),))
    rows = [row(0, ItemKind.TOOL_RESULT, "short", envelope=envelope)]
    assert values(hydrated(rows, order_id={"type": "string"}), "order_id") == ["W-1"]


def test_what_the_user_names_comes_before_what_is_only_listed() -> None:
    rows = [
        row(0, ItemKind.TOOL_RESULT, '[{"flight": "HAT001"}, {"flight": "HAT002"}]'),
        user(1, "I take HAT002."),
    ]
    assert values(hydrated(rows, flight={"type": "string"}), "flight") == ["HAT002", "HAT001"]


def test_a_value_is_carried_on_from_another_tools_call() -> None:
    rows = [
        row(0, ItemKind.TOOL_RESULT, '{"reservations": ["AA11", "BB22"]}'),
        call(1, "get_reservation", reservation_id="BB22"),
    ]
    result = hydrated(rows, reservation_id={"type": "string"}, reason={"type": "string"})
    assert values(result, "reservation_id")[0] == "BB22"


def test_a_tool_that_takes_one_value_is_offered_the_ones_it_has_not_had() -> None:
    rows = [
        row(0, ItemKind.TOOL_RESULT, '{"reservation_ids": ["AA11", "BB22"]}'),
        call(1, "book", reservation_id="AA11"),
    ]
    assert values(hydrated(rows, reservation_id={"type": "string"}), "reservation_id")[0] == "BB22"


def test_forms_and_options_are_kept() -> None:
    rows = [user(0, "The date is 2024-05-20, cabin basic economy, bags 3, date tomorrow.")]
    result = hydrated(
        rows,
        date={"type": "string", "format": "date"},
        cabin={"type": "string", "enum": ["business", "basic_economy"]},
        bags={"type": "integer"},
    )
    assert values(result, "date") == ["2024-05-20"]
    assert values(result, "cabin") == ["basic_economy"]
    assert values(result, "bags")[0] == "3"
    assert all(value.isdigit() for value in values(result, "bags"))


INTEGER, NULL = {"type": "integer"}, {"type": "null"}


@pytest.mark.parametrize(
    ("schema", "fitting"),
    [
        ({"type": ["integer", "null"]}, ["3"]),
        ({"anyOf": [INTEGER, NULL], "default": None}, ["3"]),
        ({"oneOf": [NULL, {"anyOf": [INTEGER, NULL]}]}, ["3"]),
        ({"anyOf": [{"enum": ["heavy one", None]}, NULL]}, ["heavy one"]),
        ({"type": ["string", "null"], "enum": ["a lot", None]}, ["a lot"]),
        ({"type": "boolean"}, ["true"]),
        ({"type": ["integer", "string"]}, ["a lot", "heavy one", "3", "None", "true"]),
    ],
)
def test_what_may_be_null_keeps_its_form_and_options(
    schema: dict[str, Any], fitting: list[str]
) -> None:
    stated = '{"weight": ["a lot", "heavy one", 3, "None", "true"]}'
    result = hydrated([row(0, ItemKind.TOOL_RESULT, stated)], weight=schema)
    assert values(result, "weight") == fitting


def test_leaves_of_what_may_be_null_are_parameters() -> None:
    flight = {"type": "object", "properties": {"date": {"format": "date"}}}
    flights = {"anyOf": [{"type": "array", "items": {"anyOf": [flight, NULL]}}, NULL]}
    (leaf,) = parameters({"properties": {"flights": flights}})
    assert (leaf.name, leaf.form is None) == ("flights[].date", False)


def test_the_query_decides_between_equals() -> None:
    rows = [row(0, ItemKind.TOOL_RESULT, '{"order_ids": ["W-1", "W-2"]}')]
    result = hydrated(rows, "return order W-2", order_id={"type": "string"})
    assert values(result, "order_id")[0] == "W-2"


@pytest.mark.parametrize(
    "text",
    [
        "Fetch the order ID with GET, or DELETE the order.",
        "GET /orders lists every order.",
        "Please send my order ASAP, I am MIA in NYC.",
        "My ID is 4711 and my order has not come.",
        "I ordered shoes in the USA.",
    ],
)
def test_what_no_order_s_id_looks_like_or_names_fills_none(text: str) -> None:
    assert values(hydrated([user(0, text)], order_id={"type": "string"}), "order_id") == []


def test_an_identifier_of_capitals_is_taken_where_the_sentence_names_it() -> None:
    rows = [user(0, "My reservation ID is XEHMNA, and the currency code is USD.")]
    result = hydrated(rows, reservation_id={"type": "string"}, currency_code={"type": "string"})
    assert values(result, "reservation_id") == ["XEHMNA"]
    assert values(result, "currency_code") == ["USD"]


def test_where_a_field_shows_what_the_identifiers_look_like_other_shapes_are_none() -> None:
    rows = [
        row(0, ItemKind.TOOL_RESULT, '{"order_id": "W-2044"}'),
        user(1, "Is order 12 or order W-3077 the one from 2024?"),
    ]
    found = values(hydrated(rows, order_id={"type": "string"}), "order_id")
    assert sorted(found) == ["W-2044", "W-3077"]


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("The amount is 2,060.09 USD.", ["2060.09"]),
        ("The amounts are -1,250, 12 and 1,234,567.5.", ["-1250", "12", "1234567.5"]),
        ("The amount is 12,34,567 rupees.", ["1234567"]),
        ("The amount is 2.060,09 EUR.", ["2060.09"]),
        ("amount: number 11.61..2,060.09", ["11.61", "2060.09"]),
        ("The amount is 060.09.", []),
        ("The amount is -12 or -12.5, not x-7.", ["-12", "-12.5"]),
        ('[{"amount": "2,060.09"}, {"amount": 12.5}]', ["2060.09", "12.5"]),
    ],
)
def test_a_number_is_one_number_as_json_writes_it(text: str, amounts: list[str]) -> None:
    rows = [row(0, ItemKind.TOOL_RESULT, text)]
    assert values(hydrated(rows, amount={"type": "number"}), "amount") == amounts


def test_a_text_keeps_the_signs_of_a_number() -> None:
    rows = [row(0, ItemKind.TOOL_RESULT, '{"amount": "2,060.09"}')]
    assert values(hydrated(rows, amount={"type": "string"}), "amount") == ["2,060.09"]


def of_firewall(text: str) -> ItemRow:
    return row(0, ItemKind.TOOL_RESULT, text, envelope=firewall_result(text))


@pytest.mark.parametrize("colon", ["Order O-20614: ", "Order: O-20614, "])
def test_a_candidate_is_a_value_and_no_piece_of_a_sentence(colon: str) -> None:
    rows = [of_firewall(f"{colon}amount 2,060.09 USD, paid by C-001")]
    kinds = {"order": {"type": "string"}, "amount": {"type": "number"}}
    result = hydrated(rows, order_id={"type": "string"}, **kinds)
    assert values(result, "order")[0] == "O-20614"
    assert not [value for value in values(result, "order") if " " in value]
    assert values(result, "order_id") == ["O-20614", "C-001"]
    assert values(result, "amount") == ["2060.09"]


def test_a_line_s_rest_is_a_value_where_no_value_stands_in_front() -> None:
    rows = [of_firewall("Address: 12 Main St, Springfield\nNote: late, but whole")]
    result = hydrated(rows, address={"type": "string"}, note={"type": "string"})
    assert values(result, "address")[0] == "12 Main St, Springfield"
    assert values(result, "note")[0] == "late, but whole"


def test_what_stands_between_two_quotations_is_no_value() -> None:
    rows = [user(0, 'The customer\'s note: `{"note": "wrapped", "gift": "it\'s a present"}`')]
    assert values(hydrated(rows, note={"type": "string"}), "note") == ["wrapped", "gift"]


@pytest.mark.parametrize("fields", [{"sensitivity": Sensitivity.CONFIDENTIAL}, {"pending": True}])
def test_sensitive_and_pending_items_give_nothing(fields: dict[str, Any]) -> None:
    result = hydrated([user(0, "My user ID is mia_li_3668.", **fields)], user_id={})
    assert result.values == {}
    assert result.used == ()


def test_leaves_of_objects_and_lists_are_parameters() -> None:
    schema = {
        "properties": {
            "flights": {
                "type": "array",
                "items": {"properties": {"number": {}, "date": {"format": "date"}}},
            },
            "who": {"type": "object", "properties": {"name": {"type": "string"}}},
            "tags": {"type": "array", "items": {"type": "string"}},
        }
    }
    names = [parameter.name for parameter in parameters(schema)]
    assert names == ["flights[].number", "flights[].date", "who.name", "tags[]"]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": {"a": {"$ref": "#"}}, "$ref": "#"},
        {"properties": []},
        {"properties": {"a": 1, "b": None, "c": True}},
        {"properties": {"a": {"type": ["string", "null"], "enum": "x", "format": 3}}},
        {"properties": {"a": {"anyOf": [1, 2]}, "b": {"oneOf": [3]}, "c": {"type": [{}]}}},
        {"items": {"items": {"items": {"items": {}}}}},
        {"properties": {str(n): {} for n in range(10_000)}},
    ],
)
def test_any_schema_is_read_within_bounds(schema: dict[str, Any]) -> None:
    assert len(parameters(schema)) <= 64


def test_a_schema_that_holds_itself_ends() -> None:
    schema: dict[str, Any] = {"properties": {}}
    schema["properties"]["again"] = schema
    schema["properties"]["list"] = {"type": "array", "items": schema}
    schema["properties"]["either"] = either = {"anyOf": [{"type": "null"}]}
    either["anyOf"].append(either)
    assert len(parameters(schema)) <= 64


def test_a_result_that_means_harm_is_bounded() -> None:
    deep = '{"a":' * 5_000 + "1" + "}" * 5_000
    wide = "[" + ",".join(f'{{"user_id": "u_{n}"}}' for n in range(50_000)) + "]"
    rows = [
        row(0, ItemKind.TOOL_RESULT, deep),
        row(1, ItemKind.TOOL_RESULT, wide),
        row(2, ItemKind.TOOL_RESULT, "user_id " + "x_1 " * 50_000),
    ]
    assert len(values(hydrated(rows, user_id={}), "user_id")) <= 8
