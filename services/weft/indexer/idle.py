"""When a quiet session counts as closed. The decision is published, so a replay never decides."""

from __future__ import annotations

from collections.abc import Iterable

from weft.readmodel.status import SessionRow
from weft_schemas.events import SessionClosedEvent
from weft_schemas.ids import digest


def due(
    sessions: Iterable[SessionRow], now_ns: int, idle_ns: int
) -> list[tuple[SessionRow, SessionClosedEvent]]:
    """The open sessions without an item for `idle_ns` nanoseconds, and what closes each."""
    return [
        (row, SessionClosedEvent(row.last_sequence, "idle"))
        for row in sessions
        if row.closed_sequence < row.last_sequence and now_ns - row.last_ns >= idle_ns
    ]


def message_id(row: SessionRow) -> str:
    """The same on every replica, for the same newest item."""
    return digest("idle", row.tenant, row.session, row.last_sequence)[:32]
