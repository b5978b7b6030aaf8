"""`weft dlq`: events that a worker gave up: look at them, have them processed again, drop them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from weft.cli.connecting import client, connected, json_option, running
from weft.cli.output import hint, print_json, shortened, table
from weft.runtime.settings import Settings
from weft_schemas.errors import InvalidInput

if TYPE_CHECKING:
    from weft.dead_letters.dead_letter import DeadLetter

worker_option = click.option("--worker", metavar="NAME", help="Of this worker only.")
session_option = click.option("--session", "-s", metavar="ID", help="Of this session only.")


@click.group()
def dlq() -> None:
    """Events that a worker could not process.

    Each is parked under the sequence of its source, which stays in the log, and holds nobody up.
    After a fix, `replay` has the worker take the source again, and what it derives takes its place.
    """


@dlq.command("list")
@session_option
@click.option("--all", "everything", is_flag=True, help="Replayed and dropped ones, too.")
@json_option
@connected
def listed(session: str | None, everything: bool, as_json: bool, settings: Settings) -> None:
    """List parked events, oldest source first. `weft dlq show` has the whole of a long error.

    \b
    Examples:
      weft dlq list
      weft dlq list --session s1 --all --json | jq '.[].error'
    """
    found = [one for one in running(_found(settings, session)) if everything or one.open]
    if as_json:
        print_json(found)
        return
    if not found:
        hint("nothing is parked")
        return
    columns = ["source", "session", "item", "worker", "code", "attempts", "state", "error"]
    table("", columns, [_row(one) for one in found])


@dlq.command()
@click.argument("sequence", type=int)
@json_option
@connected
def show(sequence: int, as_json: bool, settings: Settings) -> None:
    """Show a parked event with its source as the log holds it, and the subject that it was
    published to.

    The source is what the agent published, unmasked: anyone who may read the log may read it.

    \b
    Example:
      weft dlq show 120
    """
    found, source = running(_shown(settings, sequence))
    if as_json:
        print_json({"parked": found, "source": source})
        return
    for one in found:
        click.echo(f"{one.worker}: {one.code}, {one.attempts} attempts, {_state(one)}")
        click.echo(f"  {one.error}")
    if source is None:
        click.echo("the source is not in the log any more")
    else:
        click.echo(f"source: {source['subject']}, {source['bytes']} bytes")
        click.echo(source["payload"])


@dlq.command()
@click.argument("sequences", type=int, nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All that wait.")
@session_option
@worker_option
@json_option
@connected
def replay(as_json: bool, settings: Settings, **which: Any) -> None:
    """Process parked sources again; SEQUENCES are the sources' sequences.

    The worker takes them as soon as it runs. A source that fails again is parked again. One that
    was trimmed cannot be processed: drop it.

    \b
    Examples:
      weft dlq replay 120 133
      weft dlq replay --all --worker firewall
    """
    _tell(running(_revived(settings, drop=False, **which)), "to be worked again", as_json)


@dlq.command()
@click.argument("sequences", type=int, nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All that wait.")
@session_option
@worker_option
@json_option
@connected
def drop(as_json: bool, settings: Settings, **which: Any) -> None:
    """Drop parked sources: they stay parked and are no longer listed.

    A source that was replayed, and that no worker has taken since, can be dropped by its sequence.

    \b
    Example:
      weft dlq drop 120
    """
    _tell(running(_revived(settings, drop=True, **which)), "dropped", as_json)


async def _found(settings: Settings, session: str | None) -> list[DeadLetter]:
    from weft.dead_letters.reviving import dead_letters

    async with client(settings) as log:
        return list(await dead_letters(log.connection, settings.tenant, session))


async def _shown(
    settings: Settings, sequence: int
) -> tuple[list[DeadLetter], dict[str, Any] | None]:
    from weft.dead_letters.reviving import dead_letters, of_source
    from weft.log.reading import read
    from weft_schemas.errors import NotFound
    from weft_schemas.subjects import published_form

    async with client(settings) as log:
        found = of_source(await dead_letters(log.connection, settings.tenant), sequence)
        try:
            record = await read(log.connection, sequence)
        except NotFound:
            return found, None
    text = record.payload.decode("utf-8", "replace")
    return found, {
        "sequence": sequence,
        "subject": published_form(record.subject),
        "bytes": len(record.payload),
        "payload": text,
    }


async def _revived(
    settings: Settings,
    sequences: tuple[int, ...],
    everything: bool,
    session: str | None,
    worker: str | None,
    drop: bool,
) -> list[DeadLetter]:
    from weft.dead_letters.reviving import chosen, dead_letters, revive

    if bool(sequences) == everything:
        raise InvalidInput("name the sources' sequences, or give --all; `weft dlq list` shows them")
    async with client(settings) as log:
        found = await dead_letters(log.connection, settings.tenant, session)
        if everything:
            picked = [one for one in found if one.open and worker in (None, one.worker)]
        else:
            picked = chosen(found, sequences, worker, drop)
        if picked:
            await revive(log.connection, settings.tenant, picked, drop)
        return picked


def _tell(picked: list[DeadLetter], what: str, as_json: bool) -> None:
    if as_json:
        print_json(picked)
    elif not picked:
        hint("nothing is parked")
    else:
        for one in picked:
            click.echo(f"{one.sequence} of session {one.session} ({one.worker}): {what}")


def _row(one: DeadLetter) -> list[Any]:
    place = [one.sequence, one.session, one.item_id, one.worker]
    return [*place, one.code, one.attempts, _state(one), shortened(one.error)]


def _state(one: DeadLetter) -> str:
    if one.open:
        return "parked" if one.times == 1 else f"parked {one.times} times"
    return "dropped" if one.dropped else "replayed"
