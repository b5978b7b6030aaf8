"""The measures of routing measure what they say."""

import json
from functools import partial
from pathlib import Path

import pytest

from weft.router.item_faults import faults_of
from weft.router.router import Router
from weft_eval.hydration import hydration_recall
from weft_eval.routing import abstention, bm25, graph_against_flat, recall, routed
from weft_eval.routing_sets import RoutingCase, RoutingSet, near_copies, read_routing_sets
from weft_schemas.errors import InvalidInput
from weft_schemas.routing import SelectableItem

ITEMS = tuple(
    SelectableItem(word, f"{word}_tool", f"Does {word} things.")
    for word in ("invoice", "flight", "weather", "music", "recipe", "photo", "stock", "train")
)
CASES = tuple(RoutingCase(f"I need {item.id} now", (item.id,)) for item in ITEMS)


def test_recall_counts_right_tools_among_the_first() -> None:
    found = recall("weft", partial(routed, ITEMS), [*CASES, RoutingCase("zzz", ("invoice",))])
    assert found.queries == 9
    assert found.at == {1: 8 / 9, 3: 8 / 9, 5: 8 / 9}


def test_the_baseline_ranks_by_bm25() -> None:
    assert bm25(ITEMS)("the weather", 1) == ["weather"]


def test_the_graph_agrees_with_the_flat_ranking() -> None:
    found = graph_against_flat(Router(ITEMS), [case.query for case in CASES])
    assert found.recall == 1.0
    assert found.total == 8


def test_abstention_is_measured_with_the_tool_in_and_out() -> None:
    found = abstention(RoutingSet("x", ITEMS, CASES * 10))
    assert found.false <= 0.05
    assert found.right == 1.0


def test_near_copies_are_the_same_for_a_seed_and_sound() -> None:
    made = near_copies(ITEMS, 300, seed=4)
    assert made == near_copies(ITEMS, 300, seed=4)
    assert made != near_copies(ITEMS, 300, seed=5)
    assert (len(made), made[:8], faults_of(made)) == (300, list(ITEMS), [])


def test_a_file_of_ones_own_is_a_set(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(
        json.dumps({"tools": [{"name": "a"}], "cases": [{"query": "do a", "gold": ["a"]}]})
    )
    (read,) = read_routing_sets([file])
    assert (read.name, read.cases) == ("mine", (RoutingCase("do a", ("a",)),))
    file.write_text(json.dumps({"tools": [{"name": "a"}]}))
    with pytest.raises(InvalidInput, match=r"mine\.json: cases"):
        read_routing_sets([file])


def test_functions_of_several_files_are_pooled(tmp_path: Path) -> None:
    for number, name in enumerate(("BFCL_a.json", "BFCL_b.json")):
        functions = [{"name": f"f{number}", "parameters": {}}, {"name": "shared", "parameters": {}}]
        question = [[{"role": "user", "content": f"call {number}"}]]
        line = {"id": f"q{number}", "question": question, "function": functions}
        (tmp_path / name).write_text(json.dumps(line))
    gold = {"id": "q0", "ground_truth": [{"f0": {}}]}
    (tmp_path / "gold_BFCL_a.json").write_text(json.dumps(gold))
    (pooled,) = read_routing_sets(sorted(tmp_path.glob("BFCL*")))
    assert [item.id for item in pooled.items] == ["f0", "f1", "shared"]
    assert [case.gold for case in pooled.cases] == [("f0",), ("f1", "shared")]


def test_hydration_is_measured_on_chats(tmp_path: Path) -> None:
    arguments = json.dumps({"user_id": "mia_li_3668", "unseen": "never said"})
    messages = [
        {"role": "user", "content": "My user id is mia_li_3668."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "get_user", "arguments": arguments},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "{}"},
    ]
    file = tmp_path / "chat.json"
    file.write_text(json.dumps([{"messages": messages}]))
    found = hydration_recall(file)
    assert (found.values, found.in_three, found.first) == (1, 1.0, 1.0)
