"""A result counts less, the more of what it shows later calls have changed."""

from typing import Any

import pytest
from tests.session_view import ListView

from weft.compiler.candidates.closure import dependency_closure
from weft.compiler.compile import compile_pack
from weft.compiler.ledger import Ledger
from weft.compiler.ranking.changed_reads import changed_since
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase


def called(key: str, tool: str, result: str, **arguments: Any) -> list[ContextItem]:
    asked = {"tool_name": tool, "arguments": arguments}
    failed = {"is_error": result.startswith("error")}
    return [
        ContextItem(key, ItemKind.TOOL_CALL, "", metadata=asked),
        ContextItem(f"r{key}", ItemKind.TOOL_RESULT, result, key, metadata=failed),
    ]


SHEET = '{"hp": 41, "silver": 17, "notes": "' + "an old ranger; " * 20 + '"}'
READ = called("read", "sheet", SHEET, name="Ilka")
CHANGES_ALL = "44 " * 150


def update(key: str, who: str, result: str = "ok", value: str = "44") -> list[ContextItem]:
    return called(key, "update", result, name=who, field="hp", value=value)


def changes(items: list[ContextItem], redacted: tuple[str, ...] = ()) -> dict[str, float]:
    view = ListView(items)
    groups = dependency_closure(view, view.recent(len(items)), Ledger())
    ids = {group.key: group.rows[0].id for group in groups}
    hidden = [at for at, name in ids.items() if name in redacted]
    return {ids[at]: round(share, 2) for at, share in changed_since(groups, hidden).items()}


def test_the_more_of_a_read_is_changed_the_less_of_it_holds() -> None:
    once = changes([*READ, *update("one", "Ilka")])["read"]
    twice = changes([*READ, *update("one", "Ilka"), *update("two", "Ilka")])["read"]
    assert 0 < once < twice < 1
    assert changes([*READ, *update("all", "Ilka", value=CHANGES_ALL)]) == {"read": 1.0}


def test_changes_of_another_thing_or_before_the_read_or_that_failed_do_not_count() -> None:
    assert changes([*READ, *update("one", "Bram")]) == {}
    assert changes([*update("one", "Ilka"), *READ]) == {}
    assert changes([*READ, *update("one", "Ilka", "error: locked")]) == {}
    assert changes([*READ, *update("one", "Ilka")], ("one",)) == {}


def test_a_call_that_returns_more_than_it_says_changes_nothing() -> None:
    assert changes([*READ, *called("again", "history", SHEET, name="Ilka", since="May")]) == {}


@pytest.mark.parametrize("phase", [Phase.ANSWER, Phase.CALL])
def test_a_prompt_shows_what_nobody_changed_before_a_newer_read_that_was_changed(
    phase: Phase,
) -> None:
    names = ["Bram", "Oswin", "Ilka"]
    reads = [one for who in names for one in called(who, "sheet", sheet(who), name=who)]
    turns = [
        ContextItem(f"u{n}", ItemKind.USER_TURN, text) for n, text in enumerate(("On.", "Go."))
    ]
    items = [*reads, *update("change", "Ilka", value=CHANGES_ALL), *turns]
    prompt = compile_pack(ListView(items), CompileRequest(phase, budget=180)).pack.prompt
    assert "Oswin: a patient soul" in prompt
    assert "Ilka: a patient soul" not in prompt


def sheet(who: str) -> str:
    return (
        f"{who}: a patient soul. Strength 31. Wisdom 32. Silver 33. Arrows 34. "
        + "Fond of fish. " * 4
    )
