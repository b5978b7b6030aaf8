"""`weft rebuild`: builds the read model anew from the log beside the live one, then replaces it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from weft.cli.connecting import connected, connection, json_option, running
from weft.cli.output import hint, lost_note, print_json
from weft.cli.progress import progress
from weft.runtime.settings import Settings
from weft_schemas.errors import Corrupt, NotFound

if TYPE_CHECKING:
    from weft.indexer.rebuild import Rebuilt


@click.command()
@click.option("--data", "data_dir", type=click.Path(path_type=Path), metavar="DIR",
              help="The replica's data folder.  [WEFT_DATA_DIR, else ./weft-data]")  # fmt: skip
@click.option("--from", "source", type=click.Choice(["start", "snapshot"]), default="start",
              show_default=True, help="The whole log, or the newest snapshot and what came after.",
              )  # fmt: skip
@click.option("--accept-loss", is_flag=True,
              help="Of a trimmed log whose snapshots are gone: build what is left, for good.",
              )  # fmt: skip
@click.option("--verify", is_flag=True, help="Exit with 1 where the old one said otherwise.")
@json_option
@connected
def rebuild(
    data_dir: Path | None,
    source: str,
    accept_loss: bool,
    verify: bool,
    as_json: bool,
    settings: Settings,
) -> None:
    """Fold the whole log into a fresh read model and swap it in, without a failed request.

    The replica on the data folder continues to serve. Then both read models are brought to the
    same sequence, their content digests are compared, and readers switch to the new one.
    Without a running indexer the files are swapped too.

    If a log was trimmed and neither a snapshot nor a replica holds what was trimmed, no replica can
    start. --accept-loss then builds the read model of what the log still holds, and takes a
    snapshot from which others start. From then on the log says what is lost, and `weft doctor`,
    `weft verify` and `weft export` report it. The command is refused while a snapshot of any
    release or encoding, a running replica or this folder may hold more. With `weft up`, run it
    beside `weft up --indexer 0`.

    \b
    Examples:
      weft rebuild --verify
      weft rebuild --data /var/lib/weft --json
      weft rebuild --from snapshot --verify
      weft rebuild --accept-loss
    """
    folder = data_dir or settings.data_dir
    if accept_loss and source == "snapshot":
        raise click.UsageError("--accept-loss is for a log without a snapshot; leave one out")
    if verify and not (folder / "replica").is_dir():
        raise NotFound(f"{folder}: no read model to compare with; name the replica's with --data")
    done = running(_rebuild(settings, folder, source, accept_loss, quiet=as_json))
    if done.lost_before:
        hint(f"LOST: {lost_note(done.lost_before)}. The log says so from now on")
    if as_json:
        print_json({**msgspec.to_builtins(done, enc_hook=str), "equal": done.equal})
    else:
        same = "the same digest as before" if done.equal else "ANOTHER digest than before"
        same = same if done.replaced else "there was none before"
        click.echo(f"rebuilt to sequence {done.sequence} in {done.seconds:.1f} s: {same}")
        click.echo(f"digest {done.digest}")
    if verify and not done.equal:
        raise Corrupt(
            f"the read model said something else than the log at sequence {done.sequence}; the "
            "rebuilt one is in place"
        )


async def _rebuild(
    settings: Settings, data_dir: Path, source: str, loss: bool, quiet: bool
) -> Rebuilt:
    from weft.indexer.rebuild import rebuild as build

    async with connection(settings, "rebuild") as log:
        with progress("events", quiet) as on_progress:
            given = (log, data_dir, settings.encoding, on_progress)
            return await build(*given, snapshot=source == "snapshot", loss=loss)
