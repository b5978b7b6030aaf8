"""Which parts and which form of a result are shown if not everything fits."""

import json

from tests.choosing import choice_of
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


def wrapped(count: int) -> str:
    held = json.dumps(
        {"trains": [{"id": f"IC-{n}", "to": "Bern", "track": n} for n in range(count)]}, indent=1
    )
    return json.dumps({"content": [{"type": "text", "text": held}], "isError": False})


def test_a_result_in_a_wrapper_is_complete_without_its_escapes() -> None:
    items = [
        ContextItem("u1", ItemKind.USER_TURN, "Which trains are there?"),
        call("old"),
        ContextItem("r1", ItemKind.TOOL_RESULT, "\n\n".join([TERMS] * 4), "c-old"),
        call("trains"),
        ContextItem("r2", ItemKind.TOOL_RESULT, wrapped(14), "c-trains"),
    ]
    prompt = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=1_600)).pack.prompt
    assert "\\" not in prompt
    assert all(f"id: IC-{n}," in prompt for n in range(14))


def test_what_is_hardly_shorter_stays_as_it_was_written() -> None:
    text = json.dumps({"train": "IC-1", "note": "It waits for " + "a long while, " * 40})
    choice = choice_of([call("train"), ContextItem("r", ItemKind.TOOL_RESULT, text, "c-train")], 99)
    (group,) = choice.groups
    shape = choice.shapes[group.rows[1].sequence]
    assert shape.complete() == shape.whole()
    assert shape.complete() != shape.all()
