"""The panel keeps its halves apart, loses no case, and reads a session as it stood at a step."""

from pathlib import Path

import msgspec
import pytest
from tests.bench.panel import promises
from tests.bench.panel.beam import read_chats
from tests.bench.panel.halves import half_of, portions, sampled
from tests.bench.panel.rows import Metric

from weft_eval.in_process import InProcess
from weft_eval.transcripts import CallStep, LabelledQuestion, LabelledTranscript
from weft_schemas.compile import CompileRequest, ContextPack
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

ITEMS = (
    ContextItem("u", ItemKind.USER_TURN, "Please cancel order R77X."),
    ContextItem(
        "c",
        ItemKind.TOOL_CALL,
        'find({"order": "R77X"})',
        metadata={"tool_name": "find", "call_id": "1", "arguments": {"order": "R77X"}},
    ),
    ContextItem("r", ItemKind.TOOL_RESULT, '{"payment": "visa_991"}', "c", metadata={}),
    ContextItem("a", ItemKind.AGENT_MSG, "It was paid by card."),
)
REQUEST = CompileRequest(phase=Phase.CALL, budget=500)


def transcripts(count: int, steps: int = 3) -> list[LabelledTranscript]:
    held = tuple(CallStep(n, ({"n": n},)) for n in range(steps))
    return [LabelledTranscript(f"s{n}", ITEMS, steps=held) for n in range(count)]


def cases(held: list[LabelledTranscript]) -> int:
    return sum(len(one.steps) + len(one.questions) for one in held)


def test_the_halves_share_no_session_and_are_all_of_them() -> None:
    held = transcripts(5)
    tuned, confirming = half_of(held, "tuned"), half_of(held, "confirm")
    assert [one.name for one in tuned] == ["s0", "s2", "s4"]
    assert [one.name for one in confirming] == ["s1", "s3"]
    assert half_of(held, "all") == held


def test_of_a_single_session_the_questions_are_halved() -> None:
    asked = tuple(LabelledQuestion(f"q{n}", ("u",)) for n in range(5))
    held = [msgspec.structs.replace(transcripts(1)[0], steps=(), questions=asked)]
    assert [one.text for one in half_of(held, "confirm")[0].questions] == ["q1", "q3"]


@pytest.mark.parametrize("wanted", [1, 7, 29, 30, 100])
def test_a_sample_has_as_many_cases_as_were_asked_for(wanted: int) -> None:
    assert cases(sampled(transcripts(10), wanted)) == min(wanted, 30)


@pytest.mark.parametrize("sessions", [1, 2, 5])
def test_portions_lose_no_case(sessions: int) -> None:
    held = transcripts(sessions)
    assert sum(cases(portion) for portion in portions(held, 2)) == cases(held)


def test_a_compile_sees_the_session_as_it_stood_with_its_envelopes() -> None:
    compiles = InProcess()
    session = LabelledTranscript("s", ITEMS)
    shown = [
        [entry.item_id for entry in compiles(session, position, REQUEST).entries if entry.item_id]
        for position in (1, 3, 4)
    ]
    assert shown == [["u"], ["u", "c", "r"], ["u", "c", "r", "a"]]
    pack = compiles(session, 3, REQUEST)
    assert "visa_991" in pack.prompt
    assert not pack.pending


def test_a_compile_may_stand_on_the_one_before() -> None:
    compiles = InProcess()
    session = LabelledTranscript("s", ITEMS)
    before = compiles(session, 3, REQUEST)
    after = compiles(session, 4, msgspec.structs.replace(REQUEST, stable_from=before.id))
    assert not any("fresh" in note for note in after.stats.notes)


def test_beams_sources_are_read_from_lists_and_by_statement(tmp_path: Path) -> None:
    chat = tmp_path / "3"
    chat.mkdir()
    turns = [
        [{"role": "user", "id": 0, "content": "a"}, {"role": "assistant", "id": 1, "content": "b"}]
    ]
    (chat / "chat.json").write_bytes(msgspec.json.encode([{"turns": turns}]))
    asked = {
        "update": [
            {"question": "q", "source_chat_ids": {"original_info": [0], "updated_info": [1, 9]}}
        ],
        "extraction": [{"question": "p", "source_chat_ids": [1]}, {"question": "none"}],
    }
    (chat / "probing_questions.json").write_bytes(msgspec.json.encode(asked))
    (found,) = read_chats(tmp_path)
    assert [item.kind for item in found.items] == [ItemKind.USER_TURN, ItemKind.AGENT_MSG]
    assert [one.evidence for one in found.questions] == [("0", "1"), ("1",)]


def test_a_metric_says_what_is_wanted_at_each_budget() -> None:
    assert Metric("m", "share", (0.9, 0.97)).goal(1) == "≥ 0.97"
    assert Metric("m", "lost", (0.02,), at_most=True).goal(2) == "≤ 0.02"
    assert Metric("m", "share").goal(0) == ""


def test_broken_promises_are_counted_over_phases_and_positions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def violations(
        pack: ContextPack, items: tuple[ContextItem, ...], clean: dict[str, str]
    ) -> list[str]:
        assert clean.keys() == {item.id for item in ITEMS}
        return ["1: cut", "2: unmarked"] if pack.phase is Phase.CALL and len(items) == 4 else []

    monkeypatch.setattr(promises, "check", lambda: violations)
    found = promises.measure_promises([LabelledTranscript("s", ITEMS)], InProcess(), 500)
    assert (found.packs, found.broken, found.violations) == (8, 1, 2)
    assert found.shares == {"violations": 2, "kept": 1 - 1 / 8}
