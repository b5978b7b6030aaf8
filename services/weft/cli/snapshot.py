"""`weft snapshot` and `weft trim`: start new replicas fast, and remove the old end of the log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.connecting import connected, connection, json_option, running
from weft.cli.output import hint, print_json, table
from weft.cli.progress import progress
from weft.runtime.settings import Settings

if TYPE_CHECKING:
    from weft.snapshots.snapshot import Snapshot
    from weft.snapshots.trimming import Trimmed


@click.command()
@click.option("--data", "data_dir", type=click.Path(path_type=Path), metavar="DIR",
              help="The replica's data folder.  [WEFT_DATA_DIR, else ./weft-data]")  # fmt: skip
@click.option("--list", "listing", is_flag=True, help="Only show what snapshots there are.")
@json_option
@connected
def snapshot(data_dir: Path | None, listing: bool, as_json: bool, settings: Settings) -> None:
    """Store the replica's read model, with its checkpoint, next to the log.

    New replicas start from the newest snapshot that fits their release, and fold only what came
    after it. The replica goes on serving. The two newest snapshots of each release and encoding
    stay. If something is erased meanwhile, the snapshot is taken again.

    \b
    Examples:
      weft snapshot --data /var/lib/weft
      weft snapshot --list
    """
    found = running(_snapshots(settings, None if listing else data_dir or settings.data_dir))
    if as_json:
        print_json(found)
        return
    if not found:
        hint("there is no snapshot; `weft snapshot` stores one")
        return
    columns = ["sequence", "bytes", "taken", "name", "digest"]
    rows = [[one.sequence, one.size, one.taken, one.name[:12], one.digest[:12]] for one in found]
    table("", columns, rows)


@click.command()
@click.option("--before", type=click.IntRange(min=2), required=True, metavar="SEQ",
              help="The first event that stays.")  # fmt: skip
@json_option
@connected
def trim(before: int, as_json: bool, settings: Settings) -> None:
    """Erase the log's events before a sequence; a snapshot must hold their effect, and every
    worker and running replica must have processed them.

    All sessions of all tenants are trimmed. Policies, catalogues and tombstones stay. Erased
    events can still be compiled as before, but can no longer be drilled into, reproduced,
    exported or forked. A release with another read model cannot read the snapshot: upgrade
    before you trim.

    \b
    Example:
      weft snapshot && weft trim --before 100000
    """
    done = running(_trim(settings, before, quiet=as_json))
    if as_json:
        print_json(done)
    else:
        click.echo(
            f"{done.erased:,} events before {done.before:,} and {done.bodies:,} bodies are erased; "
            f"snapshot {done.snapshot[:12]} holds what they came to"
        )


async def _snapshots(settings: Settings, data_dir: Path | None) -> list[Snapshot]:
    from weft.snapshots.snapshot import Bucket, take

    async with connection(settings, "snapshot") as log:
        if data_dir is not None:
            return [await take(log, data_dir)]
        async with Bucket(log) as bucket:
            return list(await bucket.snapshots())


async def _trim(settings: Settings, before: int, quiet: bool) -> Trimmed:
    from weft.snapshots.trimming import trim as erase_before

    async with connection(settings, "trim") as log:
        with progress("events", quiet) as on_progress:
            return await erase_before(log, before, settings.encoding, on_progress)
