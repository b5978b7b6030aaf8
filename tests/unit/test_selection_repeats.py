"""The same call with the same result later on: the earlier result stands as a reference."""

from collections.abc import Sequence
from random import Random

import msgspec
import pytest
from tests.session_view import ListView

from weft.compiler.candidates.closure import Group, dependency_closure
from weft.compiler.compile import compile_pack
from weft.compiler.ledger import Ledger
from weft.compiler.renditions.rendition import AGAIN
from weft.compiler.selection.repeats import MIN_CHARACTERS, outdated_by_repetition, repeated_results
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

PAGE = " ".join(f"Line {n} of the page." for n in range(40))


def read(number: int, page: int, text: str = PAGE) -> list[ContextItem]:
    named = {"tool_name": "read", "arguments": {"page": page}}
    return [
        ContextItem(f"c{number}", ItemKind.TOOL_CALL, "", metadata=named),
        ContextItem(f"r{number}", ItemKind.TOOL_RESULT, text, f"c{number}"),
    ]


def groups(items: list[ContextItem]) -> tuple[Group, ...]:
    view = ListView(items)
    return dependency_closure(view, view.recent(len(items)), Ledger())


def ids(items: list[ContextItem]) -> set[str]:
    made = groups(items)
    rows = {row.sequence: row.id for group in made for row in group.rows}
    return {rows[at] for at in repeated_results(made, ())}


def test_all_but_the_newest_are_repeated() -> None:
    assert ids([*read(1, 1), *read(2, 1), *read(3, 1)]) == {"r1", "r2"}


def test_another_question_or_another_answer_is_no_repetition() -> None:
    assert ids([*read(1, 1), *read(2, 2)]) == set()
    assert ids([*read(1, 1), *read(2, 1, PAGE + " More.")]) == set()


def test_of_calls_made_together_none_refers_to_a_result_that_came_before_its_own() -> None:
    first, second = read(1, 1), read(2, 1)
    assert ids([first[0], second[0], second[1], first[1]]) == set()
    assert ids([first[0], second[0], first[1], second[1]]) == {"r1"}
    made = groups([*read(0, 1), first[0], second[0], second[1], first[1]])
    rows = {row.sequence: row.id for group in made for row in group.rows}
    assert {rows[at]: rows[later] for at, later in repeated_results(made, ()).items()} == {
        "r0": "r1"
    }


def test_a_short_result_is_told_again() -> None:
    assert (
        ids([*read(1, 1, "x" * (MIN_CHARACTERS - 1)), *read(2, 1, "x" * (MIN_CHARACTERS - 1))])
        == set()
    )


def test_of_redacted_items_nothing_is_said() -> None:
    made = groups([*read(1, 1), *read(2, 1)])
    every = {row.sequence for group in made for row in group.rows}
    assert repeated_results(made, every) == {}


def test_under_pressure_both_calls_stand_and_the_result_once() -> None:
    rest = [ContextItem(f"a{n}", ItemKind.AGENT_MSG, f"Word {n}. " * 30) for n in range(60)]
    items = [*rest, *read(1, 1), *read(2, 1), ContextItem("u", ItemKind.USER_TURN, "Page 1?")]
    pack = compile_pack(ListView(items), CompileRequest(Phase.ANSWER, "page", budget=900)).pack
    assert {"c1", "r1", "c2", "r2"} <= set(pack.stats.included_items)
    assert pack.prompt.count("Line 7 of the page.") == 1
    assert pack.prompt.index(AGAIN) < pack.prompt.index("Line 7 of the page.")
    assert pack.stats.deduplicated_count == 1


def test_where_all_fits_nothing_is_replaced() -> None:
    items = [*read(1, 1), *read(2, 1)]
    pack = compile_pack(ListView(items), CompileRequest(Phase.ANSWER, budget=4_000)).pack
    assert pack.prompt.count("Line 7 of the page.") == 2
    assert pack.stats.deduplicated_count == 0


@pytest.mark.parametrize("phase", Phase)
def test_no_reference_stands_without_what_it_refers_to(phase: Phase) -> None:
    """Many sessions that read few pages again and again, at budgets that hold some of it."""
    referred = 0
    for seed in range(40):
        draw = Random(seed)
        items = [ContextItem("u0", ItemKind.USER_TURN, "Compare the pages.")]
        for number in range(12):
            page = draw.randrange(4)
            items += read(number, page, f"Page {page}. {PAGE[: draw.choice([250, 900])]}")
            if draw.random() < 0.3:
                said = f"Word {number}. " * draw.choice([5, 80])
                items.append(ContextItem(f"a{number}", ItemKind.AGENT_MSG, said))
        items.append(ContextItem("u1", ItemKind.USER_TURN, f"And page {draw.randrange(4)}?"))
        budget = draw.choice([200, 400, 600, 900])
        pack = compile_pack(ListView(items), CompileRequest(phase, budget=budget)).pack
        assert pack.stats.prompt_tokens <= budget
        texts = {item.id: item.text for item in items}
        calls = {item.id: items[at - 1].metadata for at, item in enumerate(items)}
        shown = [entry for entry in pack.entries if entry.kind is ItemKind.TOOL_RESULT]
        for entry in shown:
            if AGAIN in entry.text:
                referred += 1
                assert any(
                    later.sequence > entry.sequence
                    and AGAIN not in later.text
                    and texts[later.item_id] == texts[entry.item_id]
                    and calls[later.item_id] == calls[entry.item_id]
                    for later in shown
                ), (seed, entry.item_id)
    assert referred or phase is Phase.ROUTE


def status(number: int, of: int, text: str) -> list[ContextItem]:
    named = {"tool_name": "status", "arguments": {"line": of}}
    return [
        ContextItem(f"c{number}", ItemKind.TOOL_CALL, "", metadata=named),
        ContextItem(f"r{number}", ItemKind.TOOL_RESULT, text, f"c{number}"),
    ]


def old_keys(items: list[ContextItem], redacted: Sequence[str] = ()) -> list[str]:
    made = groups(items)
    hidden = {row.sequence for one in made for row in one.rows if row.id in redacted}
    old = outdated_by_repetition(made, hidden)
    return [one.rows[0].id for one in made if one.key in old]


def test_a_call_that_was_made_again_tells_an_old_state() -> None:
    items = [*status(1, 342, "down"), *status(2, 7, "down"), *status(3, 342, "up")]
    assert old_keys(items) == ["c1"]
    assert old_keys([*items, *status(4, 342, "up, still")]) == ["c1", "c3"]
    assert old_keys(items, ["c3"]) == []


def test_a_call_is_the_same_in_whatever_order_its_arguments_stand() -> None:
    first, second = status(1, 342, "down " * 90), status(2, 342, "down " * 90)
    arguments = second[0].metadata["arguments"]
    turned = {**second[0].metadata, "arguments": dict(reversed([*arguments.items(), ("of", 1)]))}
    straight = {**first[0].metadata, "arguments": {**arguments, "of": 1}}
    items = [
        msgspec.structs.replace(first[0], metadata=straight), first[1],
        msgspec.structs.replace(second[0], metadata=turned), second[1],
    ]  # fmt: skip
    assert old_keys(items) == ["c1"]
    assert len(repeated_results(groups(items), ())) == 1


def test_what_a_call_said_before_it_failed_is_the_newest_that_is_known() -> None:
    failed = status(3, 342, "Error: the exchange does not answer")
    assert old_keys([*status(1, 342, "down"), *failed]) == []
    assert old_keys([*failed, *status(4, 342, "up")]) == ["c3"]
    waiting = status(4, 342, "up")[:1]
    assert old_keys([*status(1, 342, "down"), *waiting]) == []


@pytest.mark.parametrize("phase", [Phase.CALL, Phase.ANSWER])
def test_a_state_that_was_read_again_does_not_stand_above_the_newer_one(phase: Phase) -> None:
    """Both fit neither whole nor together."""

    def table(state: str) -> str:
        return "\n".join(
            f"Port {n} of line 342 is {state}, code {n}{state[:2]}9." for n in range(40)
        )

    talk = [ContextItem(f"a{n}", ItemKind.AGENT_MSG, f"Word {n}. " * 30) for n in range(9)]
    newer = [*status(1, 342, table("blocked")), *status(2, 342, table("free")), *talk]
    question = ContextItem("u", ItemKind.USER_TURN, "Is port 7 of line 342 blocked?")
    prompt = compile_pack(
        ListView([*newer, question]), CompileRequest(phase, budget=500)
    ).pack.prompt
    assert prompt.count("is free") > prompt.count("is blocked")
