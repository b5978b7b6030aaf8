"""Everybody's tool definitions become the same items."""

from typing import Any

import pytest

from weft.router.formats import item_from
from weft_schemas.errors import InvalidInput
from weft_schemas.routing import Effect, SelectableItem, SelectableKind

SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}}


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "github.create", "description": "D.", "inputSchema": SCHEMA},
        {"name": "github.create", "description": "D.", "input_schema": SCHEMA},
        {"name": "github.create", "description": "D.", "parameters": SCHEMA},
        {"type": "function", "name": "github.create", "description": "D.", "parameters": SCHEMA},
        {
            "type": "function",
            "function": {"name": "github.create", "description": "D.", "parameters": SCHEMA},
        },
    ],
)
def test_one_tool_in_five_forms(entry: dict[str, Any]) -> None:
    assert item_from(entry, 1) == SelectableItem(
        "github.create", "github.create", "D.", namespace="github", args_schema=SCHEMA
    )


@pytest.mark.parametrize(
    ("annotations", "changes"),
    [
        ({"readOnlyHint": True}, False),
        ({"readOnlyHint": False}, True),
        ({"destructiveHint": True}, True),
        ({}, False),
        (None, False),
    ],
)
def test_mcp_says_what_changes_things(annotations: Any, changes: bool) -> None:
    entry = {"name": "x", "inputSchema": {}, "annotations": annotations}
    assert item_from(entry, 1).side_effects is changes


@pytest.mark.parametrize(
    ("annotations", "effect"),
    [
        ({"readOnlyHint": True}, Effect.READS),
        ({"readOnlyHint": True, "destructiveHint": True}, Effect.READS),
        ({"readOnlyHint": False, "destructiveHint": False}, Effect.ADDS),
        ({"readOnlyHint": False}, Effect.UNKNOWN),
        ({"destructiveHint": True}, Effect.DESTROYS),
        ({}, Effect.UNKNOWN),
    ],
)
def test_mcp_says_what_a_call_does(annotations: Any, effect: Effect) -> None:
    entry = {"name": "x", "inputSchema": {}, "annotations": annotations}
    assert item_from(entry, 1).effect is effect


def test_a_native_item_keeps_its_fields() -> None:
    entry = {"id": "a", "name": "A", "kind": "agent", "tags": ["x"], "requires": ["b"]}
    made = item_from(entry, 1)
    assert (made.kind, made.tags, made.requires) == (SelectableKind.AGENT, ("x",), ("b",))


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        (3, "tool 7: is int"),
        ({"name": "a", "cost_hint": "x"}, r"tool 'a': .*\$.cost_hint"),
        ({"name": "a", "colour": "red"}, "tool 'a': .*`colour`"),
        ({"description": "no name"}, "tool 7: "),
        ({"name": 5, "inputSchema": {}}, r"tool 7: .*\$.id"),
        ({"name": "a", "inputSchema": []}, r"tool 'a': .*\$.args_schema"),
    ],
)
def test_a_fault_names_the_tool_and_the_field(entry: Any, fault: str) -> None:
    with pytest.raises(InvalidInput, match=fault):
        item_from(entry, 7)
