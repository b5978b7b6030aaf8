"""How good the readers' calls are, by kind, budget and form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from weft.leaves import leaves
from weft_eval.next_call import contains_value
from weft_eval.reading.brief import UNKNOWN
from weft_eval.reading.cases import GoldCall, ReadingCase
from weft_eval.reading.files import Answers, BlindingKey
from weft_eval.reading.forms import EVERY_FORM
from weft_eval.reading.model_answers import UNREADABLE

LOSS = 0.2
"""A form counts as losing to another if it has at least this share fewer of a case's values."""


class Score(msgspec.Struct, frozen=True):
    """One answer. If the agent had made parallel calls, it is compared with the closest one."""

    values: float
    """Share of those values of the real call that the session had stated."""
    tool: bool
    exact: bool
    """The right tool with exactly the same values."""
    unknown: bool
    """It had to leave a value open."""
    misled: bool
    """It says that something could mislead."""
    answered: bool


class ScoreRow(msgspec.Struct, frozen=True):
    """For a kind at a budget in one form: shares of the cases, and counts."""

    kind: str
    budget: int
    form: str
    n: int
    values: float
    tool: float
    exact: float
    unknown: int
    misled: int
    unanswered: int


class ReadingReport(msgspec.Struct, frozen=True):
    """The result of a reading."""

    rows: list[ScoreRow]
    lost: list[str]
    """Cases in which weft's prompt gave far fewer of the values than the whole history did."""


def score(answer: Any, case: ReadingCase) -> Score:
    """One answer against its case; something that is not an answer scores 0."""
    held = answer if isinstance(answer, dict) and UNREADABLE not in answer else None
    answer = held or {}
    written = json.dumps(answer.get("arguments"), ensure_ascii=False)
    fits = (_fit(answer, written, call, case.values) for call in case.gold)
    values, tool, exact = max(fits, default=(0.0, False, False))
    unknown, misled = UNKNOWN in written, bool(answer.get("misled"))
    return Score(values, tool, exact, unknown, misled, held is not None)


def _fit(
    answer: Mapping[str, Any], written: str, call: GoldCall, values: Sequence[str]
) -> tuple[float, bool, bool]:
    share = sum(contains_value(written, value) for value in values) / len(values) if values else 1.0
    tool = answer.get("name") == call.name
    wanted = _leaves(json.loads(call.arguments))
    return share, tool, tool and wanted == _leaves(answer.get("arguments"))


def _leaves(arguments: Any) -> list[str]:
    return sorted(str(leaf) for _, leaf in leaves(arguments))


def reading(
    gold: Mapping[str, ReadingCase], keys: Mapping[int, BlindingKey], answers: Mapping[int, Answers]
) -> ReadingReport:
    """The table over all readers that have answered."""
    scores: dict[tuple[str, int, str], list[Score]] = {}
    values: dict[str, dict[str, float]] = {}
    for reader, answered in sorted(answers.items()):
        for id, form in keys[reader].items():
            case = gold[id]
            found = score(answered.get(id), case)
            scores.setdefault((case.kind, case.budget, form), []).append(found)
            values.setdefault(id, {})[form] = found.values
    order = list(dict.fromkeys(("full", *EVERY_FORM)))
    places = sorted(scores, key=lambda place: (place[0], place[1], order.index(place[2])))
    return ReadingReport([_row(place, scores[place]) for place in places], list(_lost(values)))


def _row(place: tuple[str, int, str], scores: Sequence[Score]) -> ScoreRow:
    return ScoreRow(
        *place,
        n=len(scores),
        values=_mean(one.values for one in scores),
        tool=_mean(one.tool for one in scores),
        exact=_mean(one.exact for one in scores),
        unknown=sum(one.unknown for one in scores),
        misled=sum(one.misled for one in scores),
        unanswered=sum(not one.answered for one in scores),
    )


def _mean(values: Iterable[float]) -> float:
    held = list(values)
    return round(sum(held) / len(held), 4)


def _lost(values: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    for id, of in sorted(values.items()):
        if "weft" in of and of.get("full", 0.0) - of["weft"] > LOSS:
            yield id
