"""A reading: which moments become cases, what the files say, and how answers are scored."""

import json
from pathlib import Path

import pytest

from weft import tokens
from weft_eval.in_process import InProcess
from weft_eval.reading import files, scoring
from weft_eval.reading.cases import (
    CaseChoice,
    GoldCall,
    ReadingCase,
    candidates,
    make_cases,
    tools_of,
)
from weft_eval.reading.forms import EVERY_FORM, as_text
from weft_eval.reading.model_answers import UNREADABLE, answer_in
from weft_eval.transcripts import LabelledTranscript, labelled
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind

FILLER = "The weather in Oslo is mild, with light rain in the evening and some wind at night. "


def call(id: str, tool: str, **arguments: object) -> ContextItem:
    held = {"tool_name": tool, "call_id": id, "arguments": arguments, "turn_id": f"t{id}"}
    return ContextItem(id, ItemKind.TOOL_CALL, f"{tool}({json.dumps(arguments)})", metadata=held)


def session(name: str, order: str) -> LabelledTranscript:
    """Asks for an order, looks at it and at the weather, and pays."""
    return labelled(
        name,
        [
            ContextItem("p", ItemKind.POLICY, "Pay only what was asked for."),
            ContextItem("u", ItemKind.USER_TURN, f"Please pay order {order} by card."),
            call("c1", "find", order=order),
            ContextItem("r1", ItemKind.TOOL_RESULT, '{"payment": "visa_991"}', "c1"),
            call("c2", "weather", city="Oslo"),
            ContextItem("r2", ItemKind.TOOL_RESULT, FILLER * 40, "c2"),
            call("c3", "pay", order=order, payment="visa_991"),
        ],
    )


SESSIONS = [session(f"s{n}", f"ORD-{n:04}") for n in range(6)]
CASE = ReadingCase(
    id="k-1",
    kind="k",
    budget=100,
    values=["ORD-0001", "visa_991"],
    full_tokens=900,
    gold=[GoldCall("pay", '{"order": "ORD-0001", "payment": "visa_991", "amount": 5}')],
    prompts={"weft": "short", "full": "all"},
)


def right(**changed: object) -> dict[str, object]:
    held = {"order": "ORD-0001", "payment": "visa_991", "amount": 5}
    return {"name": "pay", "arguments": {**held, **changed}, "misled": ""}


def test_a_case_is_a_moment_whose_history_exceeds_the_budget_and_states_a_value() -> None:
    found = list(candidates(SESSIONS, CaseChoice(), 300))
    assert [one.step.position for one in found] == [5] * 6
    assert found[0].values == ["ORD-0000", "visa_991"]
    assert not list(candidates(SESSIONS, CaseChoice(), 5_000))
    assert not list(candidates(SESSIONS, CaseChoice(longest=500), 300))
    assert not list(candidates(SESSIONS, CaseChoice(without=frozenset({"pay"})), 300))
    assert [one.step.position for one in candidates(SESSIONS[:1], CaseChoice(), 5)] == [1, 5]


def test_the_same_seed_draws_the_same_cases_and_another_others() -> None:
    def ids(seed: int) -> list[str]:
        made = make_cases(
            "k", SESSIONS, InProcess(), 300, CaseChoice(count=3, seed=seed), ("full",)
        )
        return [case.values[0] for case in made]

    assert ids(1) == ids(1)
    assert len(ids(1)) == 3
    assert len({tuple(ids(seed)) for seed in range(5)}) > 1


def test_every_form_keeps_to_its_budget_but_for_the_whole_history() -> None:
    (made,) = make_cases("k", SESSIONS[:1], InProcess(), 300, CaseChoice(), EVERY_FORM)
    assert set(made.prompts) == set(EVERY_FORM)
    for form in ("weft", "mask", "tail"):
        assert tokens.count(made.prompts[form]) <= 300
    assert all(item.text in made.prompts["full"] for item in SESSIONS[0].items[:5])
    assert "[Old tool result cleared]" in made.prompts["mask"]
    assert made.policy == "Pay only what was asked for."
    assert made.gold == [GoldCall("pay", '{"order":"ORD-0000","payment":"visa_991"}')]


def test_messages_are_written_with_their_calls() -> None:
    function = {"name": "find", "arguments": '{"order":"A1"}'}
    written = as_text(
        [
            {"role": "user", "content": "Where is A1?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c", "function": function}],
            },
            {"role": "tool", "tool_call_id": "c", "content": "late"},
        ]
    )
    assert written == (
        '[user]\nWhere is A1?\n\n[assistant calls c]\nfind({"order":"A1"})\n\n[tool c]\nlate'
    )


def test_as_many_readers_as_forms_read_each_case_once_in_each_form(tmp_path: Path) -> None:
    forms = ("weft", "mask", "tail", "full")
    made = make_cases("k", SESSIONS, InProcess(), 300, CaseChoice(), forms)
    files.write(tmp_path, made, {"k": tools_of(SESSIONS)}, 4, 1)
    keys = files.read_keys(tmp_path)
    for case in made:
        assert {key[case.id] for key in keys.values()} == set(forms)
    for reader, key in keys.items():
        text = (tmp_path / f"cases_{reader}.md").read_text()
        shown = [id for line in text.splitlines() if "= CASE " in line for id in [line.split()[2]]]
        assert shown == list(key)
        assert "- pay(order, payment)" in text
        assert text.count("Pay only what was asked for.") == 1
        assert all(made[at].prompts[key[made[at].id]] in text for at in range(len(made)))


def test_a_reading_is_not_written_over(tmp_path: Path) -> None:
    files.write(tmp_path, [CASE], {}, 2, 1)
    with pytest.raises(InvalidInput, match="holds a reading"):
        files.write(tmp_path, [CASE], {}, 2, 1)


def test_a_folder_without_a_reading_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"gold\.json.*weft eval reading cases"):
        files.read_gold(tmp_path)


def test_an_answer_is_found_in_what_a_model_says_around_it() -> None:
    text = 'It had {"order": "A1"} before.\n```json\n{"name": "pay", "arguments": {"a": 1}}\n```'
    assert answer_in(text) == {"name": "pay", "arguments": {"a": 1}}
    assert answer_in("I can't say {really}.") == {UNREADABLE: "I can't say {really}."}
    assert answer_in("") == {UNREADABLE: ""}


def test_the_right_call_is_exact() -> None:
    found = scoring.score(right(), CASE)
    assert found == scoring.Score(1.0, True, True, False, False, True)
    assert not scoring.score(right(amount=6), CASE).exact


def test_a_value_left_open_counts_as_unknown_and_costs_its_share() -> None:
    found = scoring.score(right(payment="UNKNOWN"), CASE)
    assert (found.values, found.tool, found.exact, found.unknown) == (0.5, True, False, True)


@pytest.mark.parametrize("answer", [None, {}, "pay", {UNREADABLE: "?"}, {"arguments": [1]}])
def test_what_is_no_answer_scores_nothing(answer: object) -> None:
    found = scoring.score(answer, CASE)
    assert (found.values, found.tool, found.exact) == (0.0, False, False)


def test_of_parallel_calls_any_is_right() -> None:
    other = GoldCall("notify", '{"order": "ORD-0001"}')
    both = ReadingCase(
        **{**{f: getattr(CASE, f) for f in CASE.__struct_fields__}, "gold": [other, *CASE.gold]}
    )
    assert scoring.score(right(), both).exact
    assert scoring.score({"name": "notify", "arguments": {"order": "ORD-0001"}}, both).exact


def test_the_table_compares_forms_and_names_what_weft_loses() -> None:
    keys = {0: {"k-1": "weft"}, 1: {"k-1": "full"}}
    answers = {0: {"k-1": right(payment="UNKNOWN") | {"misled": "cut"}}, 1: {"k-1": right()}}
    found = scoring.reading({"k-1": CASE}, keys, answers)
    assert [(row.form, row.values, row.exact, row.misled) for row in found.rows] == [
        ("full", 1.0, 1.0, 0),
        ("weft", 0.5, 0.0, 1),
    ]
    assert found.lost == ["k-1"]


def test_a_case_that_a_reader_left_out_is_unanswered() -> None:
    found = scoring.reading({"k-1": CASE}, {0: {"k-1": "weft"}}, {0: {}})
    assert (found.rows[0].unanswered, found.rows[0].values) == (1, 0.0)
