"""Runs of agents as tools are told apart by what their models are sent."""

from __future__ import annotations

from typing import Any

from weft.integrations.agents_as_tools import ToolRuns


def sent(*calls: str, task: str = "Look.") -> list[dict[str, Any]]:
    made = [{"type": "function_call", "call_id": call} for call in calls]
    return [{"role": "user", "content": task}, *made]


def test_parallel_runs_of_one_task_are_told_apart_by_their_calls() -> None:
    runs = ToolRuns("s")
    first, second = runs.session_of("a", sent()), runs.session_of("a", sent())
    one, other = runs.session_of("a", sent("1")), runs.session_of("a", sent("2"))
    assert {one, other} == {first, second}
    third = runs.session_of("a", sent())
    assert third not in (one, other)
    assert runs.session_of("a", sent("1", "3")) == one
    assert runs.session_of("a", sent("2", "4")) == other
    assert runs.session_of("a", sent("5")) == third


def test_a_later_run_with_the_same_ids_of_calls_is_another() -> None:
    runs = ToolRuns("s")
    first = [runs.session_of("a", sent(*calls)) for calls in ((), ("1",), ("1", "2"))]
    second = [runs.session_of("a", sent(*calls)) for calls in ((), ("1",), ("1", "2"))]
    assert len({*first}) == len({*second}) == 1
    assert first[0] != second[0]


def test_a_step_without_a_new_call_stays_in_its_run() -> None:
    runs = ToolRuns("s")
    name = runs.session_of("a", sent())
    searched = {"type": "web_search_call", "id": "w"}
    for given in ([*sent(), searched], [*sent("1"), searched], [*sent("1"), searched, searched]):
        assert runs.session_of("a", given) == name
