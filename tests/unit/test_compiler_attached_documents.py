"""Documents of a user's message are shown by what they say to the question."""

from __future__ import annotations

import pytest
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

WORDS = ["clause", "party", "supplier", "delivery", "payment", "penalty", "term", "notice", "annex"]


def report(depot: int) -> str:
    lines = [
        " ".join(WORDS[(depot + line * word) % len(WORDS)] for word in range(1, 30)) + "."
        for line in range(30)
    ]
    lines[14] = f"The access code for depot {depot} is ZX{depot * 13 + 7}."
    return "\n".join([f"[file: depot{depot}.txt, text/plain]", *lines])


@pytest.mark.parametrize("query", ["", "What is the access code for depot 1?"])
@pytest.mark.parametrize("depot", range(3))
def test_the_passage_that_answers_is_in_the_prompt(depot: int, query: str) -> None:
    message = {"turn_id": "q"}
    asked = f"What is the access code for depot {depot}?"
    items = [
        ContextItem("u1", ItemKind.USER_TURN, "Hello"),
        ContextItem("a1", ItemKind.AGENT_MSG, "Send me the files."),
        *(
            ContextItem(f"d{n}", ItemKind.DOC_SNIPPET, report(n), metadata=message)
            for n in range(3)
        ),
        ContextItem("q", ItemKind.USER_TURN, asked, metadata=message),
    ]
    request = CompileRequest(Phase.ANSWER, budget=700, query=query and asked)
    assert f"ZX{depot * 13 + 7}" in compile_pack(ListView(items), request).pack.prompt
