"""contextweaver's lines become items with their own ids; its calls are read as Python calls."""

import json

import pytest

from weft.adapters import read_items
from weft.adapters.contextweaver import parse_call
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ItemKind, Sensitivity


def test_lines_become_items() -> None:
    lines = [
        {"type": "user_turn", "id": "u1", "text": "unpaid?", "sensitivity": "internal"},
        {"type": "tool_call", "id": "c1", "text": "inv.find(paid=false)", "parent_id": "u1"},
        {"type": "tool_result", "id": "r1", "text": "none", "parent_id": "c1"},
    ]
    content = "\n".join(json.dumps(line) for line in lines).encode()
    user, call, result = read_items(content)
    assert (user.id, user.sensitivity) == ("u1", Sensitivity.INTERNAL)
    assert (call.kind, call.parent_id) == (ItemKind.TOOL_CALL, "u1")
    assert (call.reserved.tool_name, call.reserved.arguments) == ("inv.find", {"paid": False})
    assert (result.parent_id, result.reserved.tool_name) == ("c1", "inv.find")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b(x='1', y=[1, 2])", ("a.b", {"x": "1", "y": [1, 2]})),
        ("a()", ("a", {})),
        ("a(1)", ("a", None)),
        ("a(x=open('f'))", (None, None)),
        ("a(x={1, 2})", ("a", {"x": [1, 2]})),
        ("look this up", (None, None)),
        ("", (None, None)),
        ("(" * 5000, (None, None)),
    ],
)
def test_only_literal_calls_are_read(text: str, expected: object) -> None:
    assert parse_call(text) == expected


def test_an_unknown_kind_is_named() -> None:
    content = b'{"type": "user_turn", "id": "u", "text": "x"}\n{"type": "dream", "id": "d"}'
    with pytest.raises(InvalidInput, match=r"-, line 2: \$"):
        read_items(content)
