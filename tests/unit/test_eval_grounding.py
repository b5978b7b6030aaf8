"""Grounding, evidence and stability measure what they say, in prompts and in messages."""

import msgspec

from weft.audit.grounding import in_place
from weft_eval.evidence import measure_evidence
from weft_eval.grounding import measure_grounding
from weft_eval.in_process import InProcess
from weft_eval.provided import PROVIDERS, shown_by
from weft_eval.stability import common, history, measure_stability
from weft_eval.transcripts import CallStep, LabelledQuestion, LabelledTranscript
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

ASKED = ContextItem("u", ItemKind.USER_TURN, "Please cancel order R77X for mia@example.org.")
CALL = ContextItem(
    "c",
    ItemKind.TOOL_CALL,
    'find({"order": "R77X"})',
    metadata={"tool_name": "find", "call_id": "1", "arguments": {"order": "R77X"}},
)
RESULT = ContextItem("r", ItemKind.TOOL_RESULT, '{"payment": "visa_991"}', "c")
STEP = CallStep(3, ({"order": "R77X", "payment": "visa_991", "reason": "unstated"},))
SESSION = LabelledTranscript("s", (ASKED, CALL, RESULT), steps=(STEP,))


def test_values_that_the_session_stated_are_found_in_prompt_and_messages() -> None:
    found = measure_grounding([SESSION], InProcess(), 500)
    assert (found.values, found.found, found.openai, found.anthropic, found.oracle) == (2,) * 5


def test_what_the_budget_cannot_hold_is_missed_and_beyond_the_oracle() -> None:
    found = measure_grounding([SESSION], InProcess(), 1)
    assert (found.values, found.found, found.openai, found.anthropic, found.oracle) == (2, *[0] * 4)
    assert {value for *_, value in found.missed} == {"R77X", "visa_991"}


def test_a_sentence_is_paid_for_once_by_the_oracle() -> None:
    items = (ContextItem("u", ItemKind.USER_TURN, "Move A1B2 from dock D45 to dock E67 today"),)
    session = LabelledTranscript("s", items, steps=(CallStep(1, ({"a": ["A1B2", "D45", "E67"]},)),))
    assert measure_grounding([session], InProcess(), 18).oracle == 3
    assert measure_grounding([session], InProcess(), 9).oracle < 3


def test_a_value_elsewhere_than_in_its_item_does_not_count() -> None:
    def without_result(transcript: LabelledTranscript, position: int, request: CompileRequest):  # type: ignore[no-untyped-def]
        pack = InProcess()(transcript, position, request)
        moved = [
            msgspec.structs.replace(entry, text="gone" if entry.item_id == "r" else entry.text)
            for entry in pack.entries
        ]
        prompt = f"{pack.prompt.replace('visa_991', '')}\ngone visa_991"
        return msgspec.structs.replace(pack, entries=tuple(moved), prompt=prompt)

    found = measure_grounding([SESSION], without_result, 500)
    assert (found.found, found.openai, found.anthropic) == (1, 1, 1)


def test_messages_show_calls_by_their_arguments_and_results_under_their_call() -> None:
    entries = InProcess()(SESSION, 3, CompileRequest(Phase.CALL, budget=500)).entries
    for provider in PROVIDERS:
        shown = shown_by(provider, entries)
        assert shown["c"] == '{"order":"R77X"}'
        assert "visa_991" in shown["r"]
        assert shown["u"] == ASKED.text


def test_evidence_counts_whole_turns_and_what_could_be_held() -> None:
    turns = tuple(
        ContextItem(f"t{n}", ItemKind.USER_TURN, f"On day {n} we met in the town of Place{n}, all.")
        for n in range(30)
    )
    asked = (
        LabelledQuestion("Who was in Place7?", ("t7",)),
        LabelledQuestion("And where?", tuple(f"t{n}" for n in range(8, 20))),
    )
    session = LabelledTranscript("s", turns, questions=asked)
    found = measure_evidence([session], InProcess(), 140)
    assert found.turns == 13
    assert found.turns > found.oracle > found.found == found.openai == found.anthropic >= 1
    assert found.found == found.turns - len(found.missed)


def test_only_what_exceeds_the_budget_counts_for_stability() -> None:
    items = tuple(
        ContextItem(f"i{n}", ItemKind.AGENT_MSG, f"Order R{n:03d}X goes to dock D{n * 7:03d}.")
        for n in range(40)
    )
    steps = tuple(CallStep(at, ({"order": f"R{at - 1:03d}X"},)) for at in range(4, 41, 4))
    session = LabelledTranscript("s", items, steps=steps)
    found = measure_stability([session], InProcess(), 150)
    over = [step for step in steps[1:] if history(items[: step.position]) > 150]
    assert found.compiles == found.fresh.values == found.stable.values == len(over) > 0
    assert 0.3 < found.share < 1.0
    assert measure_stability([session], InProcess(), 5_000).compiles == 0


def test_a_common_beginning() -> None:
    assert common([1, 2, 3], [1, 2, 4, 5]) == 2
    assert common([1, 2], [1, 2, 3]) == 2
    assert common([], [1]) == 0


FLIGHTS = ContextItem(
    "f", ItemKind.TOOL_RESULT, '{"flights": [{"number": "HAT170", "price": 113}]}', "c"
)


def test_a_value_is_in_place_under_the_header_that_names_its_field() -> None:
    for block in (
        "flights: 1 record\nnumber | price\nHAT170 | 113",
        "| flights[].number | price |\n|---|---|\n| HAT170 | 113 |",
        'date,number,price\n"Mon, 6 May",HAT170,113',
        "number: HAT170\nprice: 113",
    ):
        assert in_place("HAT170", FLIGHTS, block)
        assert in_place("113", FLIGHTS, block)


def test_a_value_in_another_column_is_not_in_place() -> None:
    filler = "x" * 100
    assert not in_place("HAT170", FLIGHTS, f"number | {filler} | id\n1 | {filler} | HAT170")
    assert not in_place("HAT170", FLIGHTS, f"price\n{filler} HAT170")


def test_a_cell_longer_than_the_csv_reader_takes_is_merely_not_found() -> None:
    block = f'id,text\n7,"{"x" * 200_000}"\n8s8,"short"'
    item = ContextItem("r", ItemKind.TOOL_RESULT, '{"id": "8s8"}')
    assert in_place("8s8", item, block)
