"""Which parts are offered, and in which order they are worth their tokens."""

import json
import os
import subprocess
import sys

import pytest
from tests.choosing import choice_of

from weft.compiler.profiles import OFFERED_BUDGETS, Objective
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.offers import opening, order_parts
from weft.compiler.selection.part_scores import Scores
from weft.passages.part import leaves
from weft_schemas.items import ContextItem, ItemKind

VALUES = Objective(values=10.0, cheap=1.0)
TEXTS = Objective(values=0.0, cheap=0.3)


def of(*texts: str) -> Choice:
    items = [ContextItem(f"i{n}", ItemKind.AGENT_MSG, text) for n, text in enumerate(texts)]
    return choice_of(items, 1_000)


def ordered(choice: Choice, objective: Objective, *scores: float, budget: int = 1_000) -> list[str]:
    """The texts of the items whose parts are added, best first."""
    keys = [group.key for group in choice.groups]
    held = dict(zip(keys, scores or [1.0] * len(keys), strict=True))
    additions = order_parts(
        choice.groups, Scores(held, {}), choice.renditions, objective, (), {}, budget
    )
    return [choice.cost.rows[one.sequence].whole for one in additions]


def stretches_in_order(
    choice: Choice, named: frozenset[str] = frozenset(), terms: frozenset[str] = frozenset()
) -> list[str]:
    """The parts of the last item of the only group, best first."""
    (group,) = choice.groups
    found = {group.rows[-1].sequence: {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}} if terms else {}
    scores = Scores({group.key: 1.0}, found, terms, named=named)
    additions = order_parts([group], scores, choice.renditions, VALUES, (), {}, 1_000)
    row = group.rows[-1]
    assert row.parts is not None
    stretches = [row.readable[part.start : part.end] for part in leaves(row.parts.root)]
    return [stretches[one.part] for one in additions if one.sequence == row.sequence]


def test_a_new_value_comes_first_and_its_repetition_last() -> None:
    said = ["Your order is R77X1.", "Your other is R88X2.", "As I said, it is R77X1."]
    assert ordered(of(*said), VALUES) == [said[1], said[0], said[2]]


def test_of_equals_the_newer_comes_first() -> None:
    assert ordered(of("A day in May", "A day in Mai"), TEXTS)[0] == "A day in Mai"


def test_a_better_score_buys_a_longer_text() -> None:
    choice = of("short", "a text that is quite a bit longer than the other one is, by far")
    assert ordered(choice, TEXTS, 1.0, 3.0)[0].startswith("a text")


def test_parts_are_ordered_until_they_fill_some_budgets() -> None:
    choice = of(*(f"Order R{n:03d}X of {n} boxes goes to dock D{n:03d}." for n in range(100)))
    few = ordered(choice, VALUES, budget=100)
    assert 5 < len(few) < 40
    assert few == ordered(choice, VALUES)[: len(few)]


def test_a_field_that_says_nothing_comes_last_however_cheap() -> None:
    text = json.dumps({"meta": None, "text": "Sent to the dock. " * 20, "error": None})
    choice = of(text)
    order = stretches_in_order(choice)
    assert set(order[-2:]) == {'"meta": null', '"error": null'}
    assert len(order) > 2


def test_which_records_there_are_comes_before_details_of_a_few() -> None:
    names = ["soup", "bread", "rice", "fish", "salad"]
    dishes = [
        {"name": f"{name} of the day", **{f"step {n}": f"with pan_{at}{n} " * 12 for n in range(6)}}
        for at, name in enumerate(names)
    ]
    choice = choice_of([ContextItem("d", ItemKind.DOC_SNIPPET, json.dumps(dishes))], 1_000)
    first = stretches_in_order(choice)[: len(names)]
    assert sorted(first) == sorted(f'"name": "{name} of the day"' for name in names)


def test_bare_ids_of_records_come_later_than_their_names() -> None:
    def first_places(name: str) -> list[int]:
        fares = [[" ".join(f"{at}{n}{k}7" for k in range(26)) for n in range(6)] for at in range(5)]
        offers = [
            {name: f"of_{at}x7qK", **{f"fare_{n}": one for n, one in enumerate(held)}}
            for at, held in enumerate(fares)
        ]
        document = ContextItem("d", ItemKind.DOC_SNIPPET, json.dumps(offers))
        order = stretches_in_order(choice_of([document], 1_000))
        return [at for at, stretch in enumerate(order) if name in stretch]

    assert first_places("title") == [0, 1, 2, 3, 4]
    assert min(first_places("offerId")) > 4


def test_the_record_that_the_user_names_comes_first() -> None:
    cards = [{"note": f"card_{n}07366 that ends in {n}437, " * 9} for n in range(1, 9)]
    call = ContextItem("c", ItemKind.TOOL_CALL, "get_cards()", metadata={"tool_name": "get_cards"})
    answer = ContextItem("r", ItemKind.TOOL_RESULT, json.dumps(cards), "c")
    choice = choice_of([call, answer], 1_000)
    for number in range(1, 9):
        assert f"{number}437" in stretches_in_order(choice, frozenset({f"{number}437"}))[0]


@pytest.mark.parametrize("odd", [0, 17, 39])
def test_the_record_that_differs_from_the_others_comes_first(odd: int) -> None:
    rules = [{"rule": f"r{n}x", "range": f"10.{n}.0.0/16", "remark": ""} for n in range(40)]
    rules[odd]["remark"] = "ask Ada"
    call = ContextItem("c", ItemKind.TOOL_CALL, "rules()", metadata={"tool_name": "rules"})
    answer = ContextItem("r", ItemKind.TOOL_RESULT, json.dumps(rules), "c")
    assert f"r{odd}x" in stretches_in_order(choice_of([call, answer], 1_000))[0]


def test_what_stands_under_the_line_that_names_its_block_answers_with_it() -> None:
    files = "".join(
        f"  <file>\n    <key>report-{name}.pdf</key>\n    <more>{'text ' * 40}</more>\n"
        f"    <size>{number}99</size>\n    <etag>{'z' * 40}</etag>\n  </file>\n"
        for number, name in enumerate(("aurora", "belmonte", "orion", "delphi", "cascade"), 11)
    )
    call = ContextItem("c", ItemKind.TOOL_CALL, "list()", metadata={"tool_name": "list"})
    answer = ContextItem("r", ItemKind.TOOL_RESULT, f"<files>\n{files}</files>\n", "c")
    choice = choice_of([call, answer], 1_000)
    found = stretches_in_order(choice, terms=frozenset({"orion", "size", "etag"}))
    assert "<size>1399</size>" in next(one for one in found if "<size>" in one)


def test_a_part_that_is_too_large_leaves_its_room_to_the_others() -> None:
    large = " ".join(f"R{n:03d}X" for n in range(40))
    choice = of("Order R7X left.", "Order R8X left.", large, large.replace("X", "Y"))
    found = ordered(choice, VALUES, 1.0, 1.0, 9.0, 9.0, budget=60)
    assert found[:2] == [large.replace("X", "Y"), large]
    assert set(found[2:]) == {"Order R7X left.", "Order R8X left."}


def test_of_a_large_item_the_passages_that_answer_are_offered() -> None:
    text = "\n\n".join(f"Paragraph {n} tells of port P{n:03d}X. " * 9 for n in range(60))
    choice = choice_of([ContextItem("d", ItemKind.DOC_SNIPPET, text)], 1_000)
    (row,) = choice.cost.rows.values()
    assert row.parts is not None
    scores = Scores({row.sequence: 1.0}, {row.sequence: {7: 5.0}})
    additions = order_parts(choice.groups, scores, choice.renditions, VALUES, (), {}, 300)
    parts = list(leaves(row.parts.root))
    starts = row.parts.passages
    assert starts[7] <= additions[0].part < starts[8]
    assert sum(parts[one.part].size for one in additions) < OFFERED_BUDGETS * 300 * 5


def test_one_long_result_does_not_take_the_place_of_all_others() -> None:
    """A list of a hundred states stood where the four scenes were that the user spoke of."""

    def result(id: str, records: list[dict[str, str]]) -> list[ContextItem]:
        asked = {"tool_name": id, "arguments": {}}
        call = ContextItem(f"c{id}", ItemKind.TOOL_CALL, f"{id}()", metadata=asked)
        return [call, ContextItem(id, ItemKind.TOOL_RESULT, json.dumps(records), f"c{id}")]

    scenes = [{"scene": f"scene {n}", "text": "warm and slow " * 12} for n in range(6)]
    states = [{"entity": f"sensor {n}", "text": "on since today " * 12} for n in range(100)]
    choice = choice_of(result("scenes", scenes) + result("states", states), 1_000)
    keys = [group.key for group in choice.groups]
    scores = Scores(dict(zip(keys, (0.3, 0.6), strict=True)), {})
    additions = order_parts(choice.groups, scores, choice.renditions, TEXTS, (), {}, 1_000)
    spent, taken = 0.0, dict.fromkeys(keys, 0)
    for one in additions:
        spent += one.tokens
        if spent > 1_000:
            break
        taken[one.group.key] += 1
    assert taken[keys[0]] >= 4
    assert taken[keys[1]] >= 6


def test_how_much_a_part_answers_does_not_depend_on_the_hash_seed() -> None:
    code = (
        "from weft.compiler.selection.part_scores import _term_coverage;"
        "terms = [f'port{n}' for n in range(40)];"
        "parts = [(n, ' '.join(terms[n % 3 : n + 7 : 1 + n % 2])) for n in range(33)];"
        "print(_term_coverage(parts, frozenset(terms)))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1


def test_opening_a_call_costs_what_must_stand_with_it() -> None:
    def cost(arguments: dict[str, str]) -> float:
        named = {"tool_name": "f", "arguments": arguments}
        made = choice_of([ContextItem("c", ItemKind.TOOL_CALL, "", metadata=named)], 100)
        return opening(made.groups[0], made.renditions)

    assert cost({"id": "R7X" * 20}) > cost({"id": "R7X"}) + 10
