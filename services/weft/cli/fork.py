"""`weft fork`: copies a session, as it was at a sequence, to a new session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from weft.cli.connecting import connected, connection, json_option, running
from weft.cli.output import hint, lost_note, print_json
from weft.runtime.settings import Settings

if TYPE_CHECKING:
    from weft.copies.forking import Forked


@click.command()
@click.argument("session")
@click.option("--at", type=int, required=True, metavar="SEQ", help="Its items up to here.")
@click.argument("new")
@json_option
@connected
def fork(session: str, at: int, new: str, as_json: bool, settings: Settings) -> None:
    """Copy SESSION up to a sequence as the session NEW.

    Each item's metadata names the original. Events derived from these items are copied too,
    even those derived after the sequence; memory learned from the copies belongs to the fork.
    Erasing SESSION erases its forks.

    \b
    Example:
      weft fork s1 --at 120 s1-other-way
    """
    done = running(_fork(settings, session, at, new))
    if as_json:
        print_json(done)
    else:
        click.echo(
            f"session {done.session}: {done.items:,} items of {done.source} up to {done.at}, "
            f"{done.events:,} events, sequences {done.first} to {done.last}"
        )
    if done.lost_before:
        hint(f"note: {lost_note(done.lost_before)}")


async def _fork(settings: Settings, session: str, at: int, new: str) -> Forked:
    from weft.copies.forking import fork as copy

    async with connection(settings, "fork") as log:
        return await copy(log, settings.tenant, session, at, new)
