"""The sessions of agents that run inside a tool of another agent: each run has its own, named after
the session and the call that it is part of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from weft_schemas.ids import digest

MAX_NAME_BYTES = 256
"""Bytes of a session's name."""
_DIGITS = 16


class _Around(NamedTuple):
    """The tool that runs here."""

    thread: str
    """The framework's own id of the conversation that called it."""
    session: str
    """For an agent that runs inside."""


_AROUND: ContextVar[_Around | None] = ContextVar("weft_tool_around", default=None)


def inside(session: str, run: str) -> str:
    """The session of a run inside another session."""
    name = f"{session}/{run}"
    if len(name.encode()) <= MAX_NAME_BYTES:
        return name
    return f"{name[: MAX_NAME_BYTES // 8]}…{digest('nested', name)[:_DIGITS]}"


@contextmanager
def tool(thread: str, session: str, call: str) -> Iterator[None]:
    """While a tool runs: an agent that it starts with the same thread has a session of its own."""
    token = _AROUND.set(_Around(thread, inside(session, call)))
    try:
        yield
    finally:
        _AROUND.reset(token)


def session_around(thread: str) -> str | None:
    """The session of an agent with this thread, if it runs inside a tool of the same thread."""
    around = _AROUND.get()
    return around.session if around is not None and around.thread == thread else None
