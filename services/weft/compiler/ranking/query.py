"""The query by which a compile ranks: the request's or, without one, the situation of the agent."""

from __future__ import annotations

from weft.compiler.profiles import (
    SITUATION,
    SITUATION_TERMS,
    SITUATION_TEXT,
    SITUATION_TURNS,
    TERM_TOKENS,
)
from weft.compiler.ranking.question import understand
from weft.readmodel.view import SessionView
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ItemKind
from weft_schemas.policy import ContextPolicy


def query_of(view: SessionView, request: CompileRequest, policy: ContextPolicy) -> str:
    """The request's query; empty if it only repeats the user's latest turn."""
    return "" if _is_latest_turn(view, request.query, policy) else request.query


def situation(view: SessionView, budget: int) -> str:
    """The latest messages and calls, used as the query if the request has none. If they say little,
    such as "yes, do that", the messages before them are read, too."""
    users = view.of_kind(ItemKind.USER_TURN, SITUATION_TURNS)
    agents = view.of_kind(ItemKind.AGENT_MSG, SITUATION_TURNS)
    said: list[str] = []
    for turn in range(SITUATION_TURNS):
        said += [row.whole[:SITUATION_TEXT] for row in (*users[turn:][:1], *agents[turn:][:1])]
        wanted = min(SITUATION_TERMS, budget // TERM_TOKENS)
        if len(understand("\n".join(said)).terms) >= wanted:
            break
    called = [row for row in view.recent(SITUATION) if row.kind is ItemKind.TOOL_CALL]
    return "\n".join((*said, *(row.whole[:SITUATION_TEXT] for row in called)))


def _is_latest_turn(view: SessionView, query: str, policy: ContextPolicy) -> bool:
    """Whether a query only repeats what the user said last, as programs often send it. A turn that
    the prompt may not show is not compared: that would reveal its text."""
    latest = view.of_kind(ItemKind.USER_TURN, 1)
    if not query or not latest or latest[0].sensitivity.reaches(policy.sensitivity_floor):
        return False
    return latest[0].whole.split() == query.split()
