"""The error of an item that no message can hold."""

from __future__ import annotations

import re
from typing import Any

import pytest

from weft.client.outgoing import _checked
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind

LIMIT = 1_000
LONG = "p" * 2 * LIMIT


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"parent_id": LONG}, "$.parent_id has 2,002 bytes of "),
        ({"metadata": {"a": LONG}}, "$.metadata.a has 2,006 bytes of "),
        ({"metadata": {LONG: 1}}, f"$.metadata.{'p' * 60}… has 2,004 bytes of "),
        ({"metadata": {LONG + "a": 1, LONG: "long"}}, f"$.metadata.{'p' * 60}… has 2,009 bytes"),
    ],
)
@pytest.mark.parametrize("text", ["", "short", LONG * 2])
def test_the_longest_field_is_named(fields: dict[str, Any], told: str, text: str) -> None:
    item = ContextItem("huge", ItemKind.TOOL_CALL, text, **fields)
    with pytest.raises(InvalidInput, match=f"^item 'huge': {re.escape(told)}") as raised:
        _checked(0, item, LIMIT)
    assert len(str(raised.value)) < 300
