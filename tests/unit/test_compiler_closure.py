"""Calls and results are one group; what cannot be complete is dropped with its reason."""

from tests.session_view import ListView

from weft.compiler.closure import Closed, close
from weft_schemas.items import ContextItem, ItemKind


def call(item_id: str) -> ContextItem:
    return ContextItem(item_id, ItemKind.TOOL_CALL, "f()", metadata={"tool_name": "f"})


def result(item_id: str, parent: str | None) -> ContextItem:
    return ContextItem(item_id, ItemKind.TOOL_RESULT, "ok", parent)


def closed(view: ListView, *ids: str) -> Closed:
    return close(view, view.by_ids(ids))


def ids(made: Closed) -> list[list[str]]:
    return [[row.id for row in group.rows] for group in made.groups]


def test_a_result_brings_its_call_and_a_call_all_its_results() -> None:
    view = ListView([call("c"), result("r1", "c"), result("r2", "c")])
    for given in ("c", "r1", "r2"):
        made = closed(view, given)
        assert ids(made) == [["c", "r1", "r2"]]
        assert (made.total, made.added) == (3, 2)


def test_parallel_calls_keep_their_own_results() -> None:
    view = ListView([call("a"), call("b"), result("rb", "b"), result("ra", "a")])
    assert ids(closed(view, "a", "b")) == [["a", "ra"], ["b", "rb"]]


def test_orphans_say_what_is_missing() -> None:
    view = ListView([call("c"), result("r", "gone"), result("s", None)])
    made = closed(view, "c", "r", "s")
    assert ids(made) == []
    assert {drop.item_id: (drop.reason, drop.detail) for drop in made.dropped} == {
        "c": ("orphan", "no result yet"),
        "r": ("orphan", "its call is not in the log"),
        "s": ("orphan", "its call is not in the log"),
    }


def test_a_group_waits_for_its_last_envelope() -> None:
    view = ListView([call("c"), result("r1", "c"), result("r2", "c")], pending=["r2"])
    made = closed(view, "c", "r1", "r2")
    assert ids(made) == []
    assert {drop.reason for drop in made.dropped} == {"pending"}
    assert {drop.detail for drop in made.dropped if drop.item_id == "c"} == {
        "r2 waits for its envelope"
    }


def test_a_result_that_came_before_its_call_answers_something_else() -> None:
    view = ListView([result("r", "c"), call("c")])
    made = closed(view, "r", "c")
    assert ids(made) == []
    assert len(made.dropped) == made.total == 2
