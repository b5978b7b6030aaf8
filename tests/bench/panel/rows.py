"""The panel's rows: what is read, how it is measured, at which budgets, and what is wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from tests.bench.panel.beam import read_chats
from tests.bench.panel.promises import measure_promises
from tests.data import DATA
from weft_eval import baselines
from weft_eval.documents import measure_documents, read_library
from weft_eval.evidence import measure_evidence
from weft_eval.grounding import measure_grounding
from weft_eval.next_call import measure_next_call
from weft_eval.stability import measure_stability
from weft_eval.transcripts import LabelledTranscript, read_labelled

BASELINES = {
    "newest": baselines.newest,
    "cleared": baselines.cleared,
    "BM25": baselines.bm25,
    "passages": baselines.bm25_passages,
    "users x3": baselines.bm25_passages_of_users,
}
"""Plain ways to fill a budget, by the name of their column."""


class Metric(msgspec.Struct, frozen=True):
    """One line of the table at each budget."""

    title: str
    share: str
    """The attribute of what was measured, or its name among the `shares`."""
    wanted: tuple[float, ...] = ()
    """At each of the row's budgets; one for all of them may stand alone."""
    only_weft: bool = False
    """Says nothing of baselines."""
    at_most: bool = False
    """Less is better."""

    def goal(self, at: int) -> str:
        """What is wanted at the budget of this place, empty where nothing is."""
        if not self.wanted:
            return ""
        sign = "≤" if self.at_most else "≥"
        return f"{sign} {self.wanted[min(at, len(self.wanted) - 1)]:g}"


class Row(msgspec.Struct, frozen=True):
    only: str
    """Name by which it is chosen."""
    title: str
    read: Callable[[], list[LabelledTranscript]]
    measure: Callable[..., Any]
    budgets: tuple[int, ...]
    metrics: tuple[Metric, ...]
    count: str
    """The attribute that holds how many were looked for."""
    unit: str

    @property
    def only_weft(self) -> bool:
        return all(metric.only_weft for metric in self.metrics)


def sessions(folder: str) -> list[LabelledTranscript]:
    """The chats or conversations of a folder, in the order of their files."""
    return [one for path in sorted((DATA / folder).glob("*.json")) for one in read_labelled(path)]


_VALUES = ("values stand in the prompt", "in_prompt")
_MESSAGES = Metric("in OpenAI's messages", "openai", only_weft=True)

_STABLE = (
    Metric("stable prompts: repeated", "share", (0.75,), only_weft=True),
    Metric("stable prompts: values lost", "lost", (0.02,), only_weft=True, at_most=True),
    Metric("stable prompts: tokens against afresh", "token_ratio", (1.1,), True, at_most=True),
)
_PROMISES = (
    Metric("violations of promises", "violations", (0,), only_weft=True, at_most=True),
    Metric("prompts that keep all promises", "kept", (1,), only_weft=True),
)
_EVERY_BUDGET = (500, 1_000, 2_000, 8_000, 32_000, 128_000)

ROWS = (
    Row(
        "grounding",
        "tau-bench",
        partial(sessions, "taubench"),
        measure_grounding,
        (500, 1_000, 2_000),
        (Metric("values in place", "share", (0.90, 0.97, 0.99)), Metric(*_VALUES), _MESSAGES),
        "values",
        "values",
    ),
    Row(
        "grounding",
        "LiveMCPBench",
        partial(sessions, "livemcpbench"),
        measure_grounding,
        (500, 1_000, 2_000, 4_000),
        (Metric("values in place", "share", (0.88, 0.95, 0.98, 0.99)), Metric(*_VALUES), _MESSAGES),
        "values",
        "values",
    ),
    Row(
        "evidence",
        "LoCoMo",
        partial(sessions, "locomo"),
        measure_evidence,
        (1_000, 2_000, 4_000),
        (Metric("gold turns whole", "share", (0.76, 0.83, 0.90)), _MESSAGES),
        "turns",
        "turns",
    ),
    Row(
        "beam",
        "BEAM",
        partial(read_chats, DATA / "beam"),
        measure_evidence,
        (2_000, 4_000, 8_000),
        (
            Metric("half of a gold message, mean of questions", "shown_mean", (0.62, 0.70, 0.75)),
            Metric("half of a gold message", "shown"),
        ),
        "questions",
        "questions",
    ),
    Row(
        "documents",
        "tau2 banking",
        lambda: [read_library(DATA / "tau2_banking")],
        measure_documents,
        (2_000, 4_000, 8_000),
        (Metric("half of a needed document", "share", (0.25, 0.36, 0.48)),),
        "documents",
        "documents",
    ),
    Row(
        "coding",
        "coding",
        partial(sessions, "coding"),
        measure_next_call,
        (2_000, 4_000, 8_000),
        (
            Metric("values of the next call", "share"),
            Metric("where the history exceeds the budget", "outgrown"),
        ),
        "values",
        "values",
    ),
    *(
        Row(
            "stable",
            title,
            partial(sessions, folder),
            measure_stability,
            (1_000, 2_000),
            _STABLE,
            "compiles",
            "compiles",
        )
        for folder, title in (("taubench", "tau-bench"), ("livemcpbench", "LiveMCPBench"))
    ),
    *(
        Row("promises", title, read, measure_promises, budgets, _PROMISES, "packs", "prompts")
        for title, read, budgets in (
            ("tau-bench", partial(sessions, "taubench"), _EVERY_BUDGET),
            ("LiveMCPBench", partial(sessions, "livemcpbench"), _EVERY_BUDGET),
            ("LoCoMo", partial(sessions, "locomo"), _EVERY_BUDGET),
            ("BEAM", partial(read_chats, DATA / "beam"), _EVERY_BUDGET),
            ("coding", partial(sessions, "coding"), _EVERY_BUDGET),
        )
    ),
)


def chosen(only: Sequence[str]) -> list[Row]:
    """The rows of these names, all where none is given."""
    return [row for row in ROWS if not only or row.only in only]
