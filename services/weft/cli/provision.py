"""`weft provision`: make the streams and consumers of the log, for services that run elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from weft.cli.connecting import connected, json_option, running
from weft.cli.output import hint, print_json
from weft.runtime.settings import Settings

if TYPE_CHECKING:
    from weft.supervision.up import Provisioned


@click.command()
@click.option("--new-secret", is_flag=True, help="The deployment's secret was changed on purpose.")
@json_option
@connected
def provision(new_secret: bool, as_json: bool, settings: Settings) -> None:
    """Give the server the streams and consumers that this release needs. `weft up` does it by
    itself; containers run it once, before the services.

    You can run it again at any time: it changes what differs, and refuses changes that would
    lose events. WEFT_DURABILITY, WEFT_MAX_BYTES and WEFT_MAX_AGE_DAYS set the log's durability
    and limits. Where the data folder's read model has folded a log, and the server has none, it
    makes no empty one: move the folder's `replica` away first if there is to be one. In a log
    with an age limit it publishes again which policies, grants, catalogues and tombstones of
    sessions would leave it.

    The log keeps a check value of the deployment's secret (WEFT_FINGERPRINT_KEY, or the file
    `secret` in the data folder). Processes with another secret are refused. A log of an earlier
    release that holds events and has no such value yet gets that of WEFT_FINGERPRINT_KEY, or that
    of a data folder's secret if it made the handle of the newest result.

    \b
    Examples:
      weft provision
      WEFT_DURABILITY=cluster weft provision --nats nats://nats-1:4222 --user admin
    """
    from weft.log.secret_check import UNMARKED

    done = running(_provision(settings, new_secret))
    if not done.is_marked:
        hint(UNMARKED)
    if as_json:
        print_json(done.changes)
        return
    for change in done.changes:
        click.echo(change)
    if not done.changes:
        hint("the log is as it should be")


async def _provision(settings: Settings, new_secret: bool) -> Provisioned:
    from weft.supervision.up import provision_log

    return await provision_log(settings, new_secret=new_secret)
