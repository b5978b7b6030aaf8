"""`weft workers`: what the log holds for workers of your own."""

from __future__ import annotations

import click

from weft.cli.connecting import connected, connection, json_option, running
from weft.cli.output import print_json
from weft.runtime.settings import Settings


@click.group()
def workers() -> None:
    """Workers of your own: docs/workers.md.

    The log knows each by its durable consumer, which says how far the worker has come. `weft
    status` lists them.
    """


@workers.command()
@click.argument("name")
@json_option
@connected
def remove(name: str, as_json: bool, settings: Settings) -> None:
    """Delete the durable consumer of the worker NAME, of which no process runs any more.

    What the worker derived stays, and so do its dead letters. If it is started again, it begins at
    the beginning of the log; what it derives again counts once. Needs the `admin` credential.

    \b
    Example:
      weft workers remove birthdays
    """
    waiting = running(_removed(settings, name))
    if as_json:
        print_json({"worker": name, "waiting": waiting})
        return
    click.echo(f"removed the worker {name}; {waiting:,} events waited for it")


async def _removed(settings: Settings, name: str) -> int:
    from weft.workers.durable_consumers import remove_consumer

    async with connection(settings, "workers") as log:
        return await remove_consumer(log, name)
