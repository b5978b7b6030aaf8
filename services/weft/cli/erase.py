"""`weft erase`: a session or a tenant out of the log, the object store, snapshots and replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from weft.cli.connecting import connected, connection, json_option, running
from weft.cli.output import hint, print_json
from weft.cli.progress import steps
from weft.runtime.settings import Settings
from weft_schemas.errors import InvalidInput

if TYPE_CHECKING:
    from weft.erasure.scope import ErasedScope
    from weft.erasure.session import Erased, ErasurePlan


@click.command()
@click.option("--session", "-s", metavar="ID", help="The session, and every fork of it.")
@click.option("--scope", metavar="NAME", help="A scope, such as user:42, out of every session.")
@click.option("--reason", default="", metavar="TEXT", help="Kept with the tombstone.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@connected
def erase(
    session: str | None,
    scope: str | None,
    reason: str,
    yes: bool,
    as_json: bool,
    settings: Settings,
) -> None:
    """Erase a session with its forks, a scope, or the whole tenant that --tenant names.

    Erasing a scope erases the items that name it, in every session, with everything made from
    them (envelopes, summaries, slices, audits of those sessions), and the scope's facts and
    episodes. Items that do not name it stay, such as the calls and results of an erased turn.
    The sessions continue without what is erased. Items that name the scope later are remembered
    as usual.

    Events, audits, bodies that nothing else refers to, dead letters, snapshots and the files of
    every replica that runs are overwritten. Data that can be erased only later, or not at all, is
    listed; a receipt stays in the log. An erased name cannot be used again: publishing to it is
    refused. Events that still arrive late are ignored, and another erasure removes them. Compiles
    of other sessions are not interrupted.

    \b
    Examples:
      weft erase --session s1
      weft erase --scope user:42
      weft erase --tenant acme --yes --json
    """
    source = click.get_current_context().get_parameter_source("tenant")
    if session is not None and scope is not None:
        raise click.UsageError("give --session or --scope, not both")
    if scope is not None:
        _say(running(_erase_scope(settings, scope, reason, yes, quiet=as_json)), as_json)
        return
    if session is None and source is not ParameterSource.COMMANDLINE:
        raise InvalidInput(
            "give --session ID or --scope NAME, or --tenant NAME on the command line for a whole "
            "tenant"
        )
    done = running(_erase(settings, session, reason, yes, quiet=as_json))
    if as_json:
        print_json(done)
        return
    what = f"session {done.session}" if done.session is not None else f"tenant {done.tenant}"
    click.echo(f"erased {what}; the receipt is event {done.receipt}")
    for fork in done.forks:
        click.echo(f"  its fork {fork}, too")
    click.echo("  removed: " + ", ".join(f"{name} {n:,}" for name, n in done.removed.items()))
    for one in done.unreachable:
        click.echo(f"  not reached: {one}")


def _say(done: ErasedScope, as_json: bool) -> None:
    if as_json:
        print_json(done)
        return
    click.echo(f"erased scope {done.scope}; the receipt is event {done.receipt}")
    click.echo("  removed: " + ", ".join(f"{name} {n:,}" for name, n in done.removed.items()))
    for one in done.unreachable:
        click.echo(f"  not reached: {one}")


async def _erase_scope(
    settings: Settings, scope: str, reason: str, yes: bool, quiet: bool
) -> ErasedScope:
    from weft.erasure import scope as of_scope

    async with connection(settings, "erase") as log:
        with steps(quiet) as on_progress:
            plan = await of_scope.plan_scope(log, settings.tenant, scope, on_progress)
        if not yes:
            hint(f"to be erased: scope {scope}, {plan.events:,} events")
            for session in plan.sessions:
                hint(f"  of session {session}")
            _ask("There is no way back. Erase?")
        with steps(quiet) as on_progress:
            return await of_scope.erase_scope(log, plan, reason, on_progress)


async def _erase(
    settings: Settings, session: str | None, reason: str, yes: bool, quiet: bool
) -> Erased:
    from weft.erasure import session as of_session

    async with connection(settings, "erase") as log:
        with steps(quiet) as on_progress:
            plan = await of_session.plan(log, settings.tenant, session, on_progress)
        if not yes:
            _confirm(plan)
        with steps(quiet) as on_progress:
            return await of_session.erase(log, plan, reason, on_progress)


def _confirm(plan: ErasurePlan) -> None:
    whole = plan.session is None
    what = f"tenant {plan.tenant}, everything of it" if whole else f"session {plan.session}"
    hint(f"to be erased: {what}, {plan.events:,} events")
    for fork in plan.forks:
        hint(f"  and its fork {fork}")
    _ask("There is no way back. Erase?")


def _ask(question: str) -> None:
    """Ends the command with exit code 1 unless the answer is yes. An input that ends without an
    answer is none."""
    try:
        is_wanted = click.confirm(question, err=True)
    except click.Abort as ended:
        if not isinstance(ended.__context__, EOFError):
            raise  # Ctrl-C
        click.echo(err=True)
        is_wanted = False
    if not is_wanted:
        hint("nothing was erased")
        raise click.exceptions.Exit(1)
