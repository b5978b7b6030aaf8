"""How much of the next call a prompt can hold beside what it promises to hold: weft, and weft with
its estimate of a value's worth replaced by the truth.

`python -m tests.bench.panel.ceiling [--half tuned|confirm|all]` compiles before every call. The
latest turns, pins, the rest of a call, marks and labels stay as they are. So what the second
column lacks of 1 is about what the promises cost at that budget. It is no strict bound: the greedy
selection is the same in both.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import msgspec

from tests.bench.panel.halves import half_of
from tests.bench.panel.rows import ROWS
from tests.bench.table import show
from weft.audit.grounding import sources_of, stands_in
from weft.compiler.ranking.value_weights import value_weights
from weft_eval.grounding import GroundingRecall, measure_grounding
from weft_eval.in_process import InProcess
from weft_eval.transcripts import LabelledTranscript

TAKEN = 1e4
"""Weight of a value that the next call takes: above all that a part may hold beside it."""
OTHERS = 1e-4
"""Factor for all other values, which then only break ties."""


def main(half: str) -> None:
    lines = []
    for row in ROWS:
        if row.only == "grounding":
            cases = half_of(row.read(), half)
            for budget in row.budgets:
                estimated, known = measured(cases, budget)
                goal = row.metrics[0].goal(row.budgets.index(budget))
                lines.append([row.title, budget, goal, estimated.share, known.share])
    head = ("", "budget", "wanted", "weft", "weft that knows the next call")
    show(f"Values of the next call in place, half: {half}", head, lines)


def measured(
    cases: list[LabelledTranscript], budget: int
) -> tuple[GroundingRecall, GroundingRecall]:
    """As it is, and with the next call known."""
    estimated, known = GroundingRecall(), GroundingRecall()
    weft = InProcess()
    for transcript in cases:
        for step in transcript.steps:
            sources = sources_of(transcript.items[: step.position], step.arguments)
            if not sources:
                continue
            one = [msgspec.structs.replace(transcript, steps=(step,))]
            _add(estimated, measure_grounding(one, weft, budget))
            with knowing(list(sources)):
                _add(known, measure_grounding(one, weft, budget))
    return estimated, known


@contextmanager
def knowing(taken: list[str]) -> Iterator[None]:
    """A value is worth what it is to a call that takes these."""

    def weights(text: str, asked: frozenset[str]) -> dict[str, float]:
        estimated = value_weights(text, asked)
        values = {value: weight * OTHERS for value, weight in estimated.items()}
        return values | {value: TAKEN for value in taken if stands_in(value, text)}

    with patch("weft.compiler.selection.offers.value_weights", weights):
        yield


def _add(total: GroundingRecall, one: GroundingRecall) -> None:
    total.values += one.values
    total.found += one.found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("tuned", "confirm", "all"), default="tuned")
    main(parser.parse_args().half)
