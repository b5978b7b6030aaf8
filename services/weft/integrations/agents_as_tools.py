"""Finds out which run of an agent, itself a tool of another agent, is asking its model. The OpenAI
Agents SDK does not say so, and passes on only the input for the model. So a run is known by its
task and by the ids of its calls: each step has those of the step before, and more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import msgspec

from weft.integrations.nested_runs import inside
from weft.integrations.open_sessions import MAX_OPEN
from weft_schemas.ids import digest

RUN_DIGITS = 12


class _ToolRun(msgspec.Struct):
    session: str
    task: str
    """A hash of the agent's name and of the first that its model was sent."""
    calls: frozenset[str] = frozenset()
    """Ids of the calls that its latest step had."""


class ToolRuns:
    """The runs inside one session; the oldest are forgotten."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._runs: deque[_ToolRun] = deque(maxlen=MAX_OPEN)

    def session_of(self, agent: str, given: Sequence[Any]) -> str:
        """The session of the run whose model is sent this now."""
        task = digest("task", agent, str(given[0]) if given else "")
        calls = frozenset(str(item["call_id"]) for item in given if item.get("call_id"))
        is_new = all(item.get("role") == "user" for item in given)
        run = None if is_new else self._going_on(task, calls)
        if run is None:
            name = inside(self._session, f"{agent}-{uuid4().hex[:RUN_DIGITS]}")
            run = _ToolRun(name, task)
            self._runs.append(run)
        run.calls = calls
        return run.session

    def _going_on(self, task: str, calls: frozenset[str]) -> _ToolRun | None:
        """Runs with the same task and without calls are alike: any of them will do. A model may use
        the same ids in every run, so a run that already had all of the calls is the last choice."""
        choices: tuple[Callable[[_ToolRun], bool], ...] = (
            lambda run: bool(run.calls) and run.calls < calls,
            lambda run: not run.calls and run.task == task,
            lambda run: bool(run.calls) and run.calls == calls,
        )
        found = (run for fits in choices for run in reversed(self._runs) if fits(run))
        return next(found, None)
