"""What a prompt promises, over the recorded sessions: every phase, budgets from small to large in
rotation. `make panel ONLY=promises` asks for all of them at every place of every session."""

from __future__ import annotations

from itertools import cycle, islice

import pytest

from tests.data import DATA
from tests.promises.check import violations
from weft_eval.in_process import InProcess
from weft_eval.transcripts import LabelledTranscript, read_labelled
from weft_schemas.compile import CompileRequest
from weft_schemas.policy import Phase

BUDGETS = (500, 1_000, 2_000, 4_000, 8_000, 32_000, 128_000)
IN_EACH = 3
"""Budgets of each phase at a place: with the next phase or place come the next ones."""
FILES = {
    "taubench": "taubench/gpt-4o-airline.json",
    "livemcpbench": "livemcpbench/trajectories_claude-sonnet-4.json",
    "coding": "coding/*.json",
    "locomo": "locomo/locomo10.json",
}
EACH = {"taubench": 16, "livemcpbench": 8, "coding": 8, "locomo": 1}
"""Sessions of each kind that the quick tests look at; the panel looks at all."""


def sessions(kind: str) -> list[LabelledTranscript]:
    found = [one for path in sorted(DATA.glob(FILES[kind])) for one in read_labelled(path)]
    step = max(1, len(found) // EACH[kind])
    return found[::step][: EACH[kind]]


@pytest.mark.parametrize("kind", FILES)
def test_no_promise_is_broken_in_recorded_sessions(kind: str) -> None:
    if not DATA.is_dir():
        pytest.skip("no recorded sessions here")
    broken: list[str] = []
    budgets = cycle(BUDGETS)
    for transcript in sessions(kind):
        compiles = InProcess()
        clean = compiles.clean_texts(transcript)
        size = len(transcript.items)
        for position in sorted({size, size * 2 // 3}):
            for phase in Phase:
                for budget in islice(budgets, IN_EACH):
                    request = CompileRequest(phase, budget=budget)
                    pack = compiles(transcript, position, request)
                    found = violations(pack, transcript.items[:position], clean)
                    broken += [f"{transcript.name} {position} {phase} {budget} {v}" for v in found]
    assert broken == []
