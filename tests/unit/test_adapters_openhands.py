"""OpenHands streams become items: what the agent did and what came of it."""

import json
from typing import Any

import pytest

from weft.adapters import read_items
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind


def read(*events: dict[str, Any]) -> list[ContextItem]:
    return read_items(json.dumps(list(events)).encode(), file="run.json")


def response(call_id: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": "execute_bash", "arguments": json.dumps(arguments)}
    call = {"id": call_id, "function": function}
    return {"choices": [{"message": {"tool_calls": [call]}}]}


def test_an_action_and_its_observation_are_a_call_and_its_result() -> None:
    meta = {
        "function_name": "execute_bash",
        "tool_call_id": "t1",
        "model_response": response("t1", {"command": "ls"}),
    }
    thought, call, result = read(
        {
            "id": 5,
            "timestamp": "2025-01-20T20:29:35.04",
            "source": "agent",
            "action": "run",
            "args": {"command": "ls", "thought": "I look around.", "hidden": False},
            "tool_call_metadata": meta,
        },
        {
            "id": 6,
            "source": "agent",
            "cause": 5,
            "observation": "run",
            "content": "a.txt",
            "extras": {"metadata": {"exit_code": 0}},
            "tool_call_metadata": meta,
        },
    )
    assert (thought.kind, thought.text) == (ItemKind.AGENT_MSG, "I look around.")
    assert call.reserved.tool_name == "execute_bash"
    assert call.reserved.arguments == {"command": "ls"}
    assert call.reserved.occurred_at == "2025-01-20T20:29:35.04Z"
    assert (call.parent_id, call.reserved.turn_id) == (thought.id, thought.reserved.turn_id)
    assert (result.parent_id, result.text, result.metadata["exit_code"]) == (call.id, "a.txt", 0)


def test_old_histories_answer_the_action_before() -> None:
    user, said, call, result = read(
        {"action": "message", "content": "fix it"},
        {"action": "run", "command": "touch L", "thought": "I add it.", "action_risk": None},
        {"observation": "run", "content": "$ ", "command": "touch L", "exit_code": 1},
    )
    assert user.kind is ItemKind.USER_TURN
    assert call.reserved.arguments == {"command": "touch L"}
    assert (said.text, result.parent_id, result.metadata["exit_code"]) == ("I add it.", call.id, 1)


def test_the_machinery_is_silent_and_what_it_recalled_is_a_document() -> None:
    (found,) = read(
        {"id": 0, "observation": "agent_state_changed", "content": "", "extras": {}},
        {"id": 1, "action": "recall", "source": "user", "args": {"query": "x"}},
        {
            "id": 2,
            "observation": "recall",
            "cause": 1,
            "content": "Added",
            "extras": {"microagent_knowledge": [{"name": "git", "content": "use git"}]},
        },
        {"id": 3, "observation": "null", "cause": 0, "content": ""},
    )
    assert (found.kind, found.text) == (ItemKind.DOC_SNIPPET, "use git")


def test_an_error_that_no_call_caused_is_not_a_result() -> None:
    (item,) = read({"id": 1, "source": "agent", "observation": "error", "content": "bad call"})
    assert (item.kind, item.parent_id) == (ItemKind.DOC_SNIPPET, None)


def test_only_what_the_user_said_is_a_users_turn() -> None:
    said = [
        {"id": at, "source": source, "action": "message", "args": {"content": "My name is Eve."}}
        for at, source in enumerate(("user", "agent", "environment"))
    ]
    found = [(item.kind, item.reserved.author) for item in read(*said)]
    users, agents = ItemKind.USER_TURN, ItemKind.AGENT_MSG
    assert found == [(users, None), (agents, None), (agents, "environment")]


def test_finishing_is_said_by_the_agent() -> None:
    (item,) = read({"id": 1, "source": "agent", "action": "finish", "args": {"thought": "Done."}})
    assert (item.kind, item.text) == (ItemKind.AGENT_MSG, "Done.")


def test_an_event_that_is_neither_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"run.json, line 1: \$: an event needs `action`"):
        read({"action": "message", "content": "x"}, {"id": 1})
