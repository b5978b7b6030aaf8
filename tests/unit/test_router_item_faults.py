"""What makes a catalogue unfit."""

from typing import Any

import pytest

from weft.router.item_faults import faults_of
from weft_schemas.routing import SelectableItem


def item(item_id: str = "a", **fields: Any) -> SelectableItem:
    return SelectableItem(item_id, fields.pop("name", "A"), **fields)


def test_a_sound_catalogue_has_none() -> None:
    assert faults_of([item("a"), item("b", requires=("a",)), item("検索")]) == []


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (item(""), "$.id has 0 bytes"),
        (item("x" * 129), "$.id has 129 bytes"),
        (item("a\nb"), "printable"),
        (item("a\u202eb"), "printable"),
        (item(name="  "), "$.name has 2 characters"),
        (item(description="x" * 1_000_000), "$.description has 1000000 characters; give up to"),
        (item(cost_hint=-1.0), "$.cost_hint is -1.0"),
        (item(cost_hint=float("nan")), "$.cost_hint is nan"),
        (item(args_schema={"properties": []}), "$.args_schema.properties is no object"),
        (item(args_schema={"x": "y" * 300_000}), "$.args_schema has"),
        (item(requires=("zz",)), "$.requires names 'zz', which is not here"),
        (item(requires=("a",)), "$.requires is circular: a → a"),
    ],
)
def test_a_fault_names_tool_and_field(bad: SelectableItem, fault: str) -> None:
    (found,) = faults_of([bad])
    assert found.startswith(f"tool {bad.id[:80]!r}: ")
    assert fault in found


def test_a_schema_that_holds_itself_is_refused() -> None:
    schema: dict[str, Any] = {}
    schema["properties"] = {"again": schema}
    (fault,) = faults_of([item(args_schema=schema)])
    assert "$.args_schema cannot be written as JSON" in fault


def test_a_schema_that_refers_to_itself_is_sound() -> None:
    schema = {"properties": {"child": {"$ref": "#"}}, "$ref": "#"}
    assert faults_of([item(args_schema=schema)]) == []


def test_a_repeated_id_is_told_once() -> None:
    assert len(faults_of([item("a")] * 10_000)) == 1


def test_a_circle_is_shown() -> None:
    ring = [item(f"t{n}", requires=(f"t{(n + 1) % 3}",)) for n in range(3)]
    (fault,) = faults_of([*ring, item("x", requires=("t0",))])
    assert "circular: t0 → t1 → t2 → t0" in fault


def test_a_long_chain_and_a_long_circle_end() -> None:
    chain = [item(f"t{n}", requires=(f"t{n + 1}",)) for n in range(20_000)]
    assert faults_of([*chain, item("t20000")]) == []
    (fault,) = faults_of([*chain, item("t20000", requires=("t0",))])
    assert len(fault) < 200
