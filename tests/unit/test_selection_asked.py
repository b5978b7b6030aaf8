"""What chooses among the parts of results if a request has no query."""

from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

FILLER = "The insurer writes to the holder within a month of each report. " * 6
TERMS = "\n\n".join(
    f"## {number}. {title}\n\nOn {title.lower()}: {FILLER}"
    for number, title in enumerate(["Scope", "Letters", "Own risk", "Fraud", "Letters abroad"], 1)
)


def call(name: str) -> ContextItem:
    return ContextItem(f"c-{name}", ItemKind.TOOL_CALL, metadata={"tool_name": name})


def test_the_users_last_words_choose_among_the_parts_of_a_result() -> None:
    items = [
        ContextItem("u1", ItemKind.USER_TURN, "My card was stolen and used. What now?"),
        call("terms"),
        ContextItem("r", ItemKind.TOOL_RESULT, TERMS, "c-terms"),
        ContextItem("a", ItemKind.AGENT_MSG, "You get a letter about the letters abroad. " * 3),
        ContextItem("u2", ItemKind.USER_TURN, "Will I be charged any own risk for it?"),
    ]
    pack = compile_pack(ListView(items), CompileRequest(Phase.ANSWER, budget=420)).pack
    assert "On own risk:" in pack.prompt
    assert "On letters abroad:" not in pack.prompt
