"""Calls and results are one group; what cannot be complete is dropped with its reason."""

from tests.folded import model
from tests.session_view import ListView

from weft.compiler.candidates.closure import (
    GIVEN_UP,
    NO_RESULT,
    NOT_READY,
    Group,
    dependency_closure,
)
from weft.compiler.ledger import Ledger
from weft_schemas.events import Origin, ParkedEvent
from weft_schemas.items import ContextItem, ItemKind


def call(item_id: str) -> ContextItem:
    return ContextItem(item_id, ItemKind.TOOL_CALL, "f()", metadata={"tool_name": "f"})


def result(item_id: str, parent: str | None) -> ContextItem:
    return ContextItem(item_id, ItemKind.TOOL_RESULT, "ok", parent)


def closed(view: ListView, *ids: str) -> tuple[tuple[Group, ...], Ledger]:
    ledger = Ledger()
    return dependency_closure(view, view.by_ids(ids), ledger), ledger


def ids(groups: tuple[Group, ...]) -> list[list[str]]:
    return [[row.id for row in group.rows] for group in groups]


def test_a_result_brings_its_call_and_a_call_all_its_results() -> None:
    view = ListView([call("c"), result("r1", "c"), result("r2", "c")])
    for given in ("c", "r1", "r2"):
        groups, ledger = closed(view, given)
        assert ids(groups) == [["c", "r1", "r2"]]
        assert (ledger.total, ledger.closures) == (3, 2)


def test_parallel_calls_keep_their_own_results() -> None:
    view = ListView([call("a"), call("b"), result("rb", "b"), result("ra", "a")])
    assert ids(closed(view, "a", "b")[0]) == [["a", "ra"], ["b", "rb"]]


def test_a_call_without_a_result_stands_and_says_so() -> None:
    (group,), ledger = closed(ListView([call("c")]), "c")
    assert (ids((group,)), group.waits) == ([["c"]], NO_RESULT)
    assert group.is_call
    assert ledger.dropped == ()


def test_a_result_without_its_call_is_dropped_and_says_what_is_missing() -> None:
    view = ListView([result("r", "gone"), result("s", None)])
    groups, ledger = closed(view, "r", "s")
    assert ids(groups) == []
    assert {drop.item_id: (drop.reason, drop.detail) for drop in ledger.dropped} == {
        "r": ("orphan", "its call 'gone' is not in the log"),
        "s": ("orphan", "it names no call; give `parent_id`, or the `call_id` that its call has"),
    }


def test_a_result_that_no_call_has_says_why() -> None:
    def tied(item_id: str, kind: ItemKind, name: str) -> ContextItem:
        return ContextItem(item_id, kind, "x", metadata={"tool_name": "f", "call_id": name})

    items = [
        tied("far", ItemKind.TOOL_CALL, "2"),
        *(ContextItem(f"u{n}", ItemKind.USER_TURN, "and") for n in range(40)),
        tied("c", ItemKind.TOOL_CALL, "1"),
        tied("r", ItemKind.TOOL_RESULT, "1"),
        tied("late", ItemKind.TOOL_RESULT, "2"),
        result("of a turn", "u1"),
    ]
    groups, ledger = closed(ListView(items), "r", "late", "of a turn")
    assert ids(groups) == [["c", "r"]]
    assert {drop.item_id: drop.detail for drop in ledger.dropped} == {
        "late": "no call with its call_id '2' is within 32 items; name the call in `parent_id`",
        "of a turn": "its parent 'u1' is a user_turn and no call",
    }


def test_a_call_keeps_all_results_with_its_id() -> None:
    """That a job was started, and how it ended: the newer one must not be lost."""

    def tied(item_id: str, kind: ItemKind) -> ContextItem:
        return ContextItem(item_id, kind, "x", metadata={"tool_name": "f", "call_id": "1"})

    def calls_and_results(*kinds: str) -> ListView:
        kind = {"c": ItemKind.TOOL_CALL, "r": ItemKind.TOOL_RESULT}
        return ListView([tied(name, kind[name[0]]) for name in kinds])

    for given in ("c", "r1", "r2"):
        groups, ledger = closed(calls_and_results("c", "r1", "r2"), given)
        assert ids(groups) == [["c", "r1", "r2"]]
        assert ledger.dropped == ()
    reused = calls_and_results("c1", "r1", "c2", "r2", "r3")
    groups, _ = closed(reused, "c1", "r1", "c2", "r2", "r3")
    assert ids(groups) == [["c1", "r1"], ["c2", "r2", "r3"]]


def test_of_a_result_that_waits_for_its_envelope_the_call_tells() -> None:
    view = ListView([call("c"), result("r1", "c"), result("r2", "c")], pending=["r2"])
    (group,), ledger = closed(view, "c", "r1", "r2")
    assert (ids((group,)), group.waits) == ([["c", "r1"]], NOT_READY)
    assert {drop.item_id: (drop.reason, drop.detail) for drop in ledger.dropped} == {
        "r2": ("pending", "waits for its envelope")
    }
    (alone,), _ = closed(ListView([call("c"), result("r", "c")], pending=["r"]), "c")
    assert (ids((alone,)), alone.waits) == ([["c"]], NOT_READY)


def test_of_a_result_that_was_given_up_the_call_tells() -> None:
    parked = ParkedEvent(Origin(2, "r", "firewall", "1"), "too_deep", "no parser", 5)
    view = model(call("c"), result("r", "c"), parked).view("t", "s")
    groups = dependency_closure(view, view.recent(2), ledger := Ledger())
    assert [(group.rows[0].id, group.waits) for group in groups] == [("c", GIVEN_UP)]
    assert [(drop.item_id, drop.detail) for drop in ledger.dropped] == [("r", "parked")]


def test_a_result_that_came_before_its_call_stands_with_it() -> None:
    groups, ledger = closed(ListView([result("r", "c"), call("c")]), "r")
    assert ids(groups) == [["c", "r"]]
    assert ledger.dropped == ()


def test_a_call_and_a_result_may_be_tied_by_their_call_id_alone() -> None:
    def tied(item_id: str, kind: ItemKind, name: str) -> ContextItem:
        return ContextItem(item_id, kind, "x", metadata={"tool_name": "f", "call_id": name})

    items = [tied("a", ItemKind.TOOL_CALL, "1"), tied("b", ItemKind.TOOL_CALL, "2")]
    items += [tied("rb", ItemKind.TOOL_RESULT, "2"), tied("ra", ItemKind.TOOL_RESULT, "1")]
    for given in ("a", "ra"):
        assert ids(closed(ListView(items), given)[0]) == [["a", "ra"]]
    assert ids(closed(ListView(items), "b", "ra")[0]) == [["a", "ra"], ["b", "rb"]]
