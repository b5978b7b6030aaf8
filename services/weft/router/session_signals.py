"""What a session tells a router in addition to the query: which tools it used, and which
failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from weft.readmodel.rows import ItemRow
from weft_schemas.items import ItemKind
from weft_schemas.routing import RouteRequest


class SessionSignals(msgspec.Struct, frozen=True):
    """Names of tools."""

    used: frozenset[str] = frozenset()
    """Tools called with a result that is not an error."""
    failed: frozenset[str] = frozenset()
    """Tools whose newest result since the user's last turn is an error."""


def signals_of(rows: Iterable[ItemRow]) -> SessionSignals:
    """From a session's items in order."""
    used: set[str] = set()
    failed: set[str] = set()
    for row in rows:
        if row.kind is ItemKind.USER_TURN:
            failed.clear()
        name = row.metadata.get("tool_name")
        if row.kind is not ItemKind.TOOL_RESULT or not isinstance(name, str):
            continue
        if row.failed:
            failed.add(name)
        elif not row.pending:
            failed.discard(name)
            used.add(name)
    return SessionSignals(frozenset(used), frozenset(failed))


def with_signals(
    request: RouteRequest, known: SessionSignals, ids_named: Callable[[Iterable[str]], list[str]]
) -> RouteRequest:
    """The request; the ids of the session's used and failed tools are added to its own."""
    return msgspec.structs.replace(
        request,
        used=tuple(dict.fromkeys((*request.used, *ids_named(known.used)))),
        failed=tuple(dict.fromkeys((*request.failed, *ids_named(known.failed)))),
    )
