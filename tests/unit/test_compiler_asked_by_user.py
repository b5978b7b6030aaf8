"""An answer without a query to a user who spoke last: what the question is about comes first."""

from __future__ import annotations

from tests.session_view import ListView

from weft.compiler.candidates.closure import dependency_closure
from weft.compiler.compile import compile_pack
from weft.compiler.ledger import Ledger
from weft.compiler.ranking.question import open_question
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase


def called(number: int, tool: str, result: str) -> list[ContextItem]:
    call = ContextItem(f"c{number}", ItemKind.TOOL_CALL, tool, metadata={"tool_name": tool})
    return [call, ContextItem(f"r{number}", ItemKind.TOOL_RESULT, result, call.id)]


def order(number: int, what: str) -> list[ContextItem]:
    lines = "\n".join(f"The {what} has property {n} of the kind {n * number}." for n in range(8))
    return called(number, "get_order", f"Order NL-{number} is of a {what}.\n{lines}")


def test_the_question_brings_back_what_was_read_long_before_it() -> None:
    items = [
        ContextItem("u1", ItemKind.USER_TURN, "Look at my orders, please."),
        *order(7001, "woollen rug"),
        *(item for number in range(8) for item in order(7100 + number, f"lamp of brand {number}")),
        ContextItem("a1", ItemKind.AGENT_MSG, "I looked at all of them."),
        ContextItem("u2", ItemKind.USER_TURN, "The woollen rug is shedding. Can I return the rug?"),
    ]
    pack = compile_pack(ListView(items), CompileRequest(Phase.ANSWER, budget=420)).pack
    assert "NL-7001" in pack.prompt
    assert "woollen rug has property" in pack.prompt


def question_of(*items: ContextItem, query: str = "") -> frozenset[str]:
    view = ListView(list(items))
    return open_question(dependency_closure(view, view.recent(len(items))[::-1], Ledger()), query)


def test_only_what_the_user_asked_last_in_enough_words_is_an_open_question() -> None:
    asked = ContextItem("u", ItemKind.USER_TURN, "Can I return the woollen rug?")
    assert {"rug", "return"} <= question_of(asked)
    assert question_of(asked, query="lamps") == frozenset()
    assert question_of(asked, *order(7001, "lamp")) == frozenset()
    assert question_of(ContextItem("u", ItemKind.USER_TURN, "Yes, do that.")) == frozenset()
