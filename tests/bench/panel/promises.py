"""How often a prompt of a real session breaks what prompts promise, as `tests.promises` checks it:
in the middle and at the end of each session, in all phases, at budgets from small to large."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from weft_eval.grounding import Compile
from weft_eval.in_process import InProcess
from weft_eval.next_call import latest_user_turn
from weft_eval.transcripts import LabelledTranscript
from weft_schemas.compile import CompileRequest
from weft_schemas.policy import Phase

CHECK = "tests.promises.check"
"""Its `violations(pack, items)` names what a pack of these items breaks."""

Check = Callable[..., Sequence[Any]]


class Promises(msgspec.Struct):
    """Counts over all packs."""

    packs: int = 0
    broken: int = 0
    """Packs with a violation."""
    violations: int = 0

    @property
    def shares(self) -> dict[str, float]:
        return {"violations": self.violations, "kept": 1 - self.broken / max(self.packs, 1)}


def check() -> Check | None:
    """Null where the checks are not part of this tree."""
    try:
        return importlib.import_module(CHECK).violations  # type: ignore[no-any-return]
    except ModuleNotFoundError as error:
        if error.name and CHECK.startswith(error.name):
            return None
        raise


def measure_promises(
    transcripts: Sequence[LabelledTranscript], compile_at: Compile, budget: int
) -> Promises:
    """Compile each transcript twice in every phase, and count what is broken."""
    total = Promises()
    violations = check()
    if violations is None:
        return total
    for transcript in transcripts:
        clean = InProcess().clean_texts(transcript)
        for position in (len(transcript.items) // 2, len(transcript.items)):
            items = transcript.items[:position]
            query = latest_user_turn(items)
            for phase in Phase:
                request = CompileRequest(phase=phase, budget=budget, query=query)
                broken = violations(compile_at(transcript, position, request), items, clean)
                total.packs += 1
                total.broken += bool(broken)
                total.violations += len(broken)
    return total
