"""What `weft publish` tells of a transcript."""

from weft.cli.publish import results_without_call
from weft_schemas.items import ContextItem, ItemKind


def result(item_id: str, parent_id: str | None = None, **metadata: str) -> ContextItem:
    return ContextItem(item_id, ItemKind.TOOL_RESULT, "done", parent_id, metadata=metadata)


def test_a_result_belongs_to_a_call_by_its_parent_or_its_call_id() -> None:
    items = [
        ContextItem("c1", ItemKind.TOOL_CALL, "f()", metadata={"call_id": "x"}),
        ContextItem("u", ItemKind.USER_TURN, "hello"),
        result("r1", "c1"),
        result("r2", call_id="x"),
        result("r3"),
        result("r4", "u"),
        result("r5", call_id="y"),
        result("r6", slice_of="art:aaaaaaaaaa"),
    ]
    assert results_without_call(items) == ["r3", "r4", "r5"]
