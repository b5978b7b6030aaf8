"""`weft sessions`: the tenant's sessions, the last active first."""

from __future__ import annotations

import heapq
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from weft.cli.connecting import client, connected, json_option, running
from weft.cli.output import hint, print_json, table
from weft.runtime.settings import Settings
from weft_schemas.status import SessionSummary

if TYPE_CHECKING:
    from weft.client import Client

PAGE = 1_000
"""Sessions in one reply: the most that a compiler gives."""


@click.command()
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True,
              help="The newest so many.")  # fmt: skip
@json_option
@connected
def sessions(limit: int, as_json: bool, settings: Settings) -> None:
    """List the tenant's sessions, the one with the newest item first.

    The sequence and the time are those of its newest item. A session is closed if nothing was added
    since it was last closed. The gateway names sessions of MCP hosts `mcp-`, the host's name and an
    end of its own.

    \b
    Examples:
      weft sessions --limit 5
      weft sessions --json | jq -r '.[] | select(.closed | not).session'
    """
    found, count = running(_listed(settings, limit))
    rows = [_row(one) for one in found]
    if as_json:
        print_json(rows)
        return
    if not rows:
        hint(f"tenant {settings.tenant} has no sessions")
        return
    shown = [{**row, "closed": "closed" if row["closed"] else "open"} for row in rows]
    columns = ["session", "items", "sequence", "at", "state"]
    table("", columns, [list(row.values()) for row in shown])
    if count > limit:
        hint(f"\n{count - limit:,} older ones: --limit {count}")


def _row(one: SessionSummary) -> dict[str, Any]:
    at = datetime.fromtimestamp(one.last_ns / 1e9, UTC)
    return {
        "session": one.session,
        "items": one.items,
        "sequence": one.last_sequence,
        "at": at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "closed": one.closed,
    }


async def _listed(settings: Settings, limit: int) -> tuple[list[SessionSummary], int]:
    async with client(settings) as log:
        return await newest_sessions(log, limit)


async def newest_sessions(
    log: Client, limit: int, page: int = PAGE
) -> tuple[list[SessionSummary], int]:
    """The newest sessions, and how many there are. A compiler lists them by name, a page at a time,
    so all pages are read."""
    newest: list[SessionSummary] = []
    count, beyond = 0, ""
    while True:
        reply = await log.sessions(beyond=beyond, limit=page)
        count += len(reply.sessions)
        newest = heapq.nlargest(limit, [*newest, *reply.sessions], key=_last)
        if reply.next is None:
            return newest, count
        beyond = reply.next


def _last(one: SessionSummary) -> int:
    return one.last_sequence
