"""`weft explain`: why an item is in a prompt, of a compile to be made or of a recorded one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from click.core import ParameterSource

from weft.cli.compiling import (
    as_of_option,
    budget_option,
    catalog_option,
    check_chosen,
    offered_tools,
    pin_option,
    query_option,
    reserve_option,
    sequence_of,
    stable_from_option,
    timeout_option,
    tool_option,
    tools_option,
)
from weft.cli.connecting import client, connected, json_option, running
from weft.cli.output import hint, print_json, table
from weft.runtime.settings import Settings
from weft_schemas.errors import InvalidInput
from weft_schemas.policy import Phase

if TYPE_CHECKING:
    from weft.audit.explanation import ExplainedCompile
    from weft_schemas.compile import ExplainReply

_OF_REQUEST = frozenset({
    "session", "phase", "query", "budget", "reserve", "as_of", "stable_from", "pin", "tools",
    "tool", "catalog", "timeout",
})  # fmt: skip
"""Options that say what a recorded compile has on record."""


@click.command()
@click.argument("compile_id", required=False)
@click.option("--session", "-s", metavar="ID", help="The session, without COMPILE_ID.")
@click.option(
    "--item", "-i", metavar="ID", help="The item; without, all that COMPILE_ID considered."
)
@click.option("--all", "everything", is_flag=True,
              help="Of COMPILE_ID, items that were no candidates, too.")  # fmt: skip
@click.option(
    "--phase",
    "-p",
    default=str(Phase.ANSWER),
    show_default=True,
    type=click.Choice([str(phase) for phase in Phase]),
    help="Of the compile that is asked about.",
)
@query_option
@budget_option
@reserve_option
@as_of_option
@stable_from_option
@pin_option
@tools_option
@tool_option
@catalog_option
@timeout_option
@json_option
@connected
def explain(
    compile_id: str | None,
    session: str | None,
    item: str | None,
    everything: bool,
    as_json: bool,
    settings: Settings,
    **request: Any,
) -> None:
    """Why an item is in a compile, or why it is not.

    With COMPILE_ID it explains that recorded compile, item by item: what it showed is recorded;
    why others were left out is what this release says over a fresh read model at the same
    sequence. `weft compiles` lists the ids. This needs a credential that may read the log, and
    the compiler's WEFT_FINGERPRINT_KEY.

    Otherwise a service answers for the compile that --session and the other options describe.
    The exit code is 4 if the session has no such item.

    \b
    Examples:
      weft explain --session s1 --item m12 --phase answer --query "refund"
      weft explain 3f0c9a1be27d44c0a1f2
      weft explain 3f0c9a1be27d44c0a1f2 --item m12
      weft explain 3f0c9a1be27d44c0a1f2 --all
    """
    if compile_id is not None:
        _check_of_record()
        _tell_record(running(_recorded(settings, compile_id, item, everything)), as_json)
        return
    if everything:
        raise click.UsageError("--all is of a recorded COMPILE_ID")
    if session is None or item is None:
        raise click.UsageError("give a recorded COMPILE_ID, or --session and --item")
    reply = running(_explain(settings, session, item, **request))
    if as_json:
        print_json(reply)
    else:
        _tell(reply)


def _check_of_record() -> None:
    """Raises `InvalidInput` for an option that would change the request of a recorded compile."""
    context = click.get_current_context()
    for one in context.command.params:
        is_given = context.get_parameter_source(one.name or "") is ParameterSource.COMMANDLINE
        if is_given and one.name in _OF_REQUEST:
            raise InvalidInput(
                f"{one.opts[0]}: a recorded compile has its own request; give COMPILE_ID alone or "
                "with --item, or see `weft diff` for another policy or sequence"
            )


def _tell(reply: ExplainReply) -> None:
    state = "included" if reply.included else "dropped" if reply.candidate else "no candidate"
    reason = reply.rule or (reply.reason if reply.reason != state else "")
    click.echo(f"{reply.item_id}: {state}{f' ({reason})' if reason else ''}")
    click.echo(f"  {reply.detail}")
    for signal in reply.signals or ():
        click.echo(f"  {signal.kind} {signal.name}: {signal.detail or signal.count}")
    for name, score in reply.scores.items():
        click.echo(f"  {name}: {score:.4f}")


def _tell_record(found: ExplainedCompile, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    rows = [
        [
            one.item_id,
            one.sequence,
            one.reason,
            one.rule or "-",
            _score(one.score),
            one.detail,
        ]
        for one in found.items
    ]
    table("", ["item", "event", "state", "by", "score", "why"], rows)
    hint(f"\n{found.id} of session {found.session} at sequence {found.sequence}, {found.phase}")
    if found.others:
        hint(
            f"{found.others} more items were no candidates: neither pinned, recent, nor a match; "
            "--all lists them"
        )
    for note in found.notes:
        hint(f"note: {note}")


def _score(score: float | None) -> str:
    return "-" if score is None else f"{score:.4f}"


async def _recorded(
    settings: Settings, compile_id: str, item: str | None, everything: bool
) -> ExplainedCompile:
    async with client(settings) as log:
        return await log.operator.explain(compile_id, item, everything=everything)


async def _explain(
    settings: Settings,
    session: str,
    item: str,
    phase: str,
    as_of: str | None,
    pin: tuple[str, ...],
    tools: Path | None,
    **request: Any,
) -> ExplainReply:
    from weft_schemas.compile import CompileRequest

    offered = offered_tools(tools)
    check_chosen(request["tool"], offered, request["catalog"])
    async with client(settings) as log:
        asked = CompileRequest(
            Phase(phase),
            as_of=await sequence_of(log, as_of),
            pin=pin or msgspec.UNSET,
            tools=tuple(offered),
            **request,
        )
        return await log.explain(session, item, asked)
