"""Long lists in pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import mcp_types as types
from mcp import MCPError

PAGE = 500
"""Entries per page."""
Entry = TypeVar("Entry")


def paged(
    entries: Sequence[Entry], params: types.PaginatedRequestParams | None
) -> tuple[list[Entry], str | None]:
    """A page of a list, and the next page's cursor. Raises `MCPError` for a cursor that the gateway
    did not give."""
    start = 0
    if params is not None and params.cursor is not None:
        if not params.cursor.isdecimal() or int(params.cursor) > len(entries):
            raise MCPError(types.INVALID_PARAMS, "this cursor is not of this list")
        start = int(params.cursor)
    end = start + PAGE
    return list(entries[start:end]), str(end) if end < len(entries) else None
