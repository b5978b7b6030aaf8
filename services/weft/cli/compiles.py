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
    from weft.audit.reproduce import Reproduction


@click.command()
@click.option("--session", "-s", metavar="ID", help="Of this session alone.")
@click.option("--since", default="", metavar="TIME",
              help="`36h`, `7d` or `2026-01-31T08:00:00Z`; else all.")  # fmt: skip
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True,
              help="The newest so many.")  # fmt: skip
@click.option("--tokens", "with_tokens", is_flag=True,
              help="Also each prompt's tokens, and how many candidates it left out.")  # fmt: skip
@json_option
@connected
def compiles(
    session: str | None,
    since: str,
    limit: int,
    with_tokens: bool,
    as_json: bool,
    settings: Settings,
) -> None:
    """List the recorded compiles, the newest last.

    Their ids are those of the packs; `weft reproduce`, `weft explain` and `weft diff` take them.
    A sequence is that of the read model that was read; a policy's version is its sequence, 0 for
    the default, and the budget is the policy's if the request named none. `items` are shown,
    `shortened` of them not whole, and `pending` ones had no envelope yet. Needs a credential
    that may read the log.

    The record of a compile has no counts of tokens: --tokens renders each listed prompt again
    from the log, as `weft reproduce` does, and counts it in the encoding of that time. That
    takes some ms for each, more for long sessions, and the compiler's WEFT_FINGERPRINT_KEY.
    What the log no longer gives as it was is `-`.

    \b
    Examples:
      weft compiles --session s1
      weft compiles --session s1 --tokens
      weft compiles --since 2h --json | jq -r '.[].id'
    """
    after = since_ns(since)
    recent, rows = running(_listed(settings, session, after, limit, with_tokens))
    if as_json:
        print_json(rows)
        return
    if not rows:
        hint("no such compile is recorded")
        return
    columns = list(rows[0])
    table("", columns, [["-" if cell is None else cell for cell in row.values()] for row in rows])
    if recent > limit:
        hint(f"\n{recent - limit} earlier ones: --limit {recent}")


def _row(one: LoggedCompile) -> dict[str, Any]:
    audit = one.audit
    shown = [entry.view for entry in audit.manifest if entry.item_id]
    at = datetime.fromtimestamp(one.published_ns / 1e9, UTC)
    return {
        "id": audit.id,
        "session": audit.session,
        "sequence": audit.sequence,
        "at": at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "phase": str(audit.request.phase),
        "budget": audit.request.budget,
        "policy": audit.policy_version,
        "items": len(shown),
        "shortened": sum(view.partition(" ")[0] != "whole" for view in shown),
        "pending": len(audit.pending),
        "query": audit.request.query,
    }


def _counted(row: dict[str, Any], made: Reproduction) -> dict[str, Any]:
    """With the counts of the prompt, as far as it is the one of that time."""
    counts = {
        "budget": made.budget or row["budget"],
        "tokens": made.prompt_tokens if made.identical else None,
        "dropped": made.dropped if made.identical else None,
    }
    query = row.pop("query")  # the widest comes last
    return {**row, **counts, "query": query}


async def _listed(
    settings: Settings, session: str | None, since: int, limit: int, with_tokens: bool
) -> tuple[int, list[dict[str, Any]]]:
    """How many there are, and the rows of the newest."""
    async with client(settings) as log:
        found = await log.operator.compiles(session)
        recent = [one for one in found if one.published_ns >= since]
        newest = recent[-limit:]
        rows = [_row(one) for one in newest]
        if with_tokens:
            again = await log.operator.reproduce([one.audit for one in newest])
            rows = [_counted(row, made) for row, made in zip(rows, again, strict=True)]
        return len(recent), rows
