"""What a session says about its tools."""

from typing import Any

from weft.readmodel.rows import ItemRow
from weft.router.router import Router
from weft.router.session_signals import signals_of, with_signals
from weft_schemas.envelope import ResultEnvelope, ResultStatus
from weft_schemas.items import ItemKind, Sensitivity
from weft_schemas.routing import RouteRequest, SelectableItem


def row(kind: ItemKind, tool: str | None = None, **fields: Any) -> ItemRow:
    metadata = {**fields.pop("metadata", {}), **({"tool_name": tool} if tool else {})}
    return ItemRow(1, 0, "i", kind, "", 0, 1, None, Sensitivity.PUBLIC, metadata, 0, **fields)


def result(tool: str, status: ResultStatus = ResultStatus.SUCCESS) -> ItemRow:
    return row(ItemKind.TOOL_RESULT, tool, envelope=ResultEnvelope("", status=status))


USER = row(ItemKind.USER_TURN)


def test_results_tell_what_was_used_and_what_failed() -> None:
    known = signals_of([result("find"), result("pay", ResultStatus.ERROR)])
    assert (known.used, known.failed) == ({"find"}, {"pay"})


def test_the_newest_result_counts() -> None:
    assert signals_of([result("pay", ResultStatus.ERROR), result("pay")]).failed == set()


def test_the_users_next_word_gives_a_tool_another_chance() -> None:
    assert signals_of([result("pay", ResultStatus.ERROR), USER]).failed == set()


def test_a_result_may_say_itself_that_it_failed() -> None:
    failed = row(ItemKind.TOOL_RESULT, "pay", metadata={"is_error": True}, pending=True)
    assert signals_of([failed]).failed == {"pay"}


def test_a_result_may_say_itself_that_it_did_not_fail() -> None:
    said = {"metadata": {"is_error": False}}
    envelope = ResultEnvelope("", status=ResultStatus.ERROR)
    fine = row(ItemKind.TOOL_RESULT, "pay", envelope=envelope, **said)
    known = signals_of([fine])
    assert (known.used, known.failed) == ({"pay"}, set())


def test_a_pending_result_says_nothing() -> None:
    known = signals_of([row(ItemKind.TOOL_RESULT, "pay", pending=True)])
    assert known.used == known.failed == set()


def test_it_is_added_to_a_request_by_id() -> None:
    items = [SelectableItem("t1", "pay"), SelectableItem("t2", "pay"), SelectableItem("find", "x")]
    known = signals_of([result("find"), result("pay", ResultStatus.ERROR)])
    request = with_signals(RouteRequest("q", "c", used=("t9",)), known, Router(items).ids_named)
    assert request.used == ("t9", "find")
    assert request.failed == ("t1", "t2")
