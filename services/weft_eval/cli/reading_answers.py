"""Puts the cases of a reading to a model, several at a time; every answer is stored as it
arrives."""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from weft.language_model import Completion
from weft_eval.reading.cases import ReadingCase
from weft_eval.reading.files import (
    Answers,
    Tools,
    read_answers,
    read_gold,
    read_keys,
    read_tools,
    write_answers,
)
from weft_eval.reading.model_answers import UNREADABLE, ask
from weft_schemas.errors import Unavailable

TRIES = 4
PAUSE = 1.0
"""Seconds before the second attempt; each further pause is twice as long."""


def ask_all(folder: Path, model: Completion, parallel: int) -> tuple[int, int]:
    """Answer what is not answered yet, or only by a text that is no call; returns the number of
    cases, and of those answered by such a text now. Raises `Unavailable` if the endpoint does not
    answer, and `ConfigurationError`; earlier answers are kept."""
    gold, tools = read_gold(folder), read_tools(folder)
    asked = unreadable = 0
    for reader, key in read_keys(folder).items():
        answers = read_answers(folder, reader) or {}
        open_cases = [(gold[id], form) for id, form in key.items() if _is_open(answers, id)]
        asked += len(open_cases)
        with ThreadPoolExecutor(parallel) as pool:
            futures = {
                pool.submit(_answer, model, case, form, tools): case.id for case, form in open_cases
            }
            _keep(folder, reader, answers, futures)
        unreadable += sum(UNREADABLE in answers[case.id] for case, _ in open_cases)
    return asked, unreadable


def _is_open(answers: Answers, id: str) -> bool:
    return id not in answers or UNREADABLE in answers[id]


def _keep(
    folder: Path, reader: int, answers: Answers, futures: dict[Future[dict[str, Any]], str]
) -> None:
    """Write each answer when it arrives; after a failure nothing more is asked."""
    waiting = set(futures)
    try:
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                answers[futures[future]] = future.result()
            write_answers(folder, reader, answers)
    finally:
        for future in waiting:
            future.cancel()


def _answer(model: Completion, case: ReadingCase, form: str, tools: Tools) -> dict[str, Any]:
    for attempt in range(1, TRIES + 1):
        try:
            return ask(model, case, form, tools.get(case.kind, {}))
        except Unavailable:
            if attempt == TRIES:
                raise
            time.sleep(PAUSE * 2 ** (attempt - 1))
    raise AssertionError("every try returns or raises")
