"""`weft rederive`: runs a worker of this release over the past."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from weft.cli.connecting import client, connected, json_option, running
from weft.cli.output import hint, print_json, skipped_notes
from weft.runtime.settings import Settings

if TYPE_CHECKING:
    from weft.rederive.run import Rederived


@click.command()
@click.argument("worker")
@click.option("--session", "-s", metavar="ID", help="This session only; else all of the tenant.")
@json_option
@connected
@click.pass_context
def rederive(
    ctx: click.Context, worker: str, session: str | None, as_json: bool, settings: Settings
) -> None:
    """Run this release's WORKER over the past, under the policy in force now: firewall, summarizer,
    memory, or MODULE:WORKER for one of your own.

    Results that differ from the old ones are published and count from their own sequence on;
    compiles `--as-of` an earlier sequence give the old bytes. Results of this version and
    policy that the log already has are neither derived nor published again, so you can restart
    an interrupted run. (Memory derives them again, in case WEFT_MEMORY_LANGUAGES has changed, and
    publishes what differs.) Running memory workers process the new envelopes and summaries by
    themselves. Needs a credential that may read the log and publish what workers derive, and
    the workers' settings. The exit code is 1 if a source failed.

    \b
    Examples:
      weft rederive firewall
      weft rederive summarizer --session s1 --json
    """
    done = running(_rederived(settings, worker, session, as_json))
    if as_json:
        print_json(done)
    else:
        _tell(done)
    ctx.exit(1 if done.failed else 0)


async def _rederived(
    settings: Settings, worker: str, session: str | None, quiet: bool
) -> Rederived:
    from weft.cli.progress import progress
    from weft.rederive.run import rederive as work
    from weft.workers.running import loaded

    known = loaded(worker) if ":" in worker else worker
    async with client(settings) as log:
        with progress("sessions", quiet) as on_progress:
            return await work(log.connection, settings, known, session, on_progress)


def _tell(done: Rederived) -> None:
    click.echo(
        f"{done.worker} {done.version}: {done.published} of {done.sources} events derived anew, "
        f"{done.unchanged} unchanged, {done.known} known already, in {done.sessions} sessions"
    )
    if done.published:
        click.echo(f"they count up to sequence {done.last_sequence} (run {', '.join(done.runs)})")
    skipped_notes([(one.sequence, one.error, ()) for one in done.skipped])
    for one in done.failed:
        hint(f"event {one.sequence} of session {one.session} failed: {one.error}")
