"""`weft compiles`: what was compiled, when, and under which id."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from weft.cli.backtest import since_ns
from weft.cli.connecting import client, connected, json_option, running
from weft.cli.output import hint, print_json, table
from weft.runtime.settings import Settings

if TYPE_CHECKING:
    from weft.audit.compiles import LoggedCompile


@click.command()
@click.option("--session", "-s", metavar="ID", help="Of this session alone.")
@click.option("--since", default="", metavar="TIME",
              help="`36h`, `7d` or `2026-01-31T08:00:00Z`; else all.")  # fmt: skip
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True,
              help="The newest so many.")  # fmt: skip
@json_option
@connected
def compiles(
    session: str | None, since: str, limit: int, as_json: bool, settings: Settings
) -> None:
    """List the recorded compiles, the newest last.

    Their ids are those of the packs; `weft reproduce`, `weft explain` and `weft diff` take them.
    A sequence is that of the read model that was read; a policy's version is its sequence, 0 for
    the default, and the budget is the policy's if the request named none. Needs a credential
    that may read the log.

    \b
    Examples:
      weft compiles --session s1
      weft compiles --since 2h --json | jq -r '.[].id'
    """
    after = since_ns(since)
    found = running(_listed(settings, session))
    recent = [one for one in found if one.published_ns >= after]
    rows = [_row(one) for one in recent[-limit:]]
    if as_json:
        print_json(rows)
        return
    if not rows:
        hint("no such compile is recorded")
        return
    columns = list(rows[0])
    table("", columns, [["-" if cell is None else cell for cell in row.values()] for row in rows])
    if len(recent) > limit:
        hint(f"\n{len(recent) - limit} earlier ones: --limit {len(recent)}")


def _row(one: LoggedCompile) -> dict[str, Any]:
    audit = one.audit
    at = datetime.fromtimestamp(one.published_ns / 1e9, UTC)
    return {
        "id": audit.id,
        "session": audit.session,
        "sequence": audit.sequence,
        "at": at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "phase": str(audit.request.phase),
        "budget": audit.request.budget,
        "policy": audit.policy_version,
        "items": sum(bool(entry.item_id) for entry in audit.manifest),
        "pending": len(audit.pending),
        "query": audit.request.query,
    }


async def _listed(settings: Settings, session: str | None) -> list[LoggedCompile]:
    async with client(settings) as log:
        return await log.operator.compiles(session)
