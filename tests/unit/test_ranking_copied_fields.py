"""From which fields of results calls took values."""

from __future__ import annotations

import json

from tests.session_view import ListView

from weft.compiler.candidates.closure import dependency_closure
from weft.compiler.compile import compile_pack
from weft.compiler.ledger import Ledger
from weft.compiler.ranking.copied_fields import copied_fields
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

OLD, NEW = '"3513861915025345"', '"3567694441405893"'
GUESTS = [{"mail": f"guest{n}@larkfield.example", "answer": "accepted"} for n in range(20)]


def event(version: str) -> str:
    noise = {"kind": "calendar#event", "etag": version, "id": "evt_30847", "color": "4"}
    return json.dumps({**noise, "guests": GUESTS, "note": "Bring the plan. " * 12})


def session(*calls: tuple[str, dict[str, object], str]) -> list[ContextItem]:
    items = [ContextItem("u", ItemKind.USER_TURN, "Move the audit to another room.")]
    for number, (tool, arguments, result) in enumerate(calls):
        named = {"tool_name": tool, "arguments": arguments}
        outcome = {"is_error": True} if "error" in result else {}
        items += [
            ContextItem(f"c{number}", ItemKind.TOOL_CALL, metadata=named),
            ContextItem(f"r{number}", ItemKind.TOOL_RESULT, result, f"c{number}", metadata=outcome),
        ]
    return items


GET = ("get", {"event": "evt_30847"}, event(OLD))
PATCH = ("patch", {"event": "evt_30847", "ifMatch": OLD, "room": "MEITNER"}, '{"error": 412}')


def copied(*calls: tuple[str, dict[str, object], str]) -> frozenset[str]:
    view = ListView(session(*calls))
    groups = dependency_closure(view, view.recent(100), Ledger())
    return copied_fields(groups)


def test_a_field_is_copied_if_a_later_call_states_its_value_under_another_name() -> None:
    assert copied(GET, PATCH) == {"etag", "id"}


def test_what_a_call_stated_before_its_result_is_not_copied_from_it() -> None:
    assert copied(PATCH, GET) == frozenset()


def test_plain_words_are_not_copied() -> None:
    read = ("read", {}, json.dumps({"state": "open", "owner": "Kessel"}))
    assert copied(read, ("close", {"reason": "open for Kessel"}, "{}")) == frozenset()


def test_the_newer_value_of_such_a_field_is_shown_where_little_fits() -> None:
    items = session(GET, PATCH, ("get", {"event": "evt_30847"}, event(NEW)))
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=300)).pack
    assert "3567694441405893" in pack.prompt
    assert "records …" in pack.prompt
