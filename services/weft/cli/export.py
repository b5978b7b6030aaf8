"""`weft export` and `weft import`: sessions as JSON lines, for backup and moving."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

import click

from weft.cli.connecting import connected, connection, json_option, running
from weft.cli.output import hint, lost_note, print_json, print_json_line, skipped_notes
from weft.cli.progress import progress
from weft.runtime.settings import Settings
from weft_schemas.errors import Corrupt, InvalidInput

if TYPE_CHECKING:
    from weft.copies.exporting import Exported
    from weft.copies.importing import Imported


@click.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--session", "-s", metavar="ID", help="This session; else the whole tenant.")
@json_option
@connected
def export(file: Path, session: str | None, as_json: bool, settings: Settings) -> None:
    """Write a session, or all of the tenant, to FILE (`-` for stdout) as JSON lines.

    The export has the events byte for byte, the events derived from them, and large bodies in
    full; a tenant's export also has policies, catalogues and tombstones. It has no audits of
    compiles. A later erasure cannot reach what was exported. Events whose subject cannot be read
    are left out, with the events that park or revive them, and told on stderr, and with --json in
    `skipped`.

    \b
    Examples:
      weft export s1.jsonl --session s1
      weft export - --tenant acme | gzip > acme.jsonl.gz
    """
    done = running(_export(settings, session, file, quiet=as_json))
    if as_json and str(file) != "-":
        print_json(done)
    else:
        hint(f"{done.records:,} events, {done.bodies:,} bodies; digest {done.digest}")
    for name in done.missing:
        hint(f"note: body {name} is not in the object store; its item goes without it")
    skipped_notes([(one.sequence, one.why, one.about) for one in done.skipped])
    if done.trimmed:
        hint(
            f"note: {done.trimmed:,} items were trimmed from the log and are not in it: only "
            "snapshots hold them"
        )
    if done.lost_before:
        hint(f"note: {lost_note(done.lost_before)}")


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--as", "session", metavar="ID", help="Another name for a single session.")
@json_option
@connected
def import_(file: Path, session: str | None, as_json: bool, settings: Settings) -> None:
    """Copy an export from FILE (`-` for stdin) into the log, for the tenant that --tenant names.

    Derived events are copied too, so nothing is derived again. The exit code is 1 if the copy's
    digest differs from the export's. After an interruption, run the command again; it continues
    where it stopped.

    \b
    Examples:
      weft import s1.jsonl
      weft import s1.jsonl --as s1-copy --tenant staging
    """
    done = running(_import(settings, session, file, quiet=as_json))
    if as_json:
        print_json_line(done)
    else:
        until = f"up to sequence {done.last}" if done.last else "all there before"
        click.echo(
            f"{done.records:,} events of {done.sessions:,} sessions, {done.bodies:,} bodies, "
            f"{until}; digest {done.digest}"
        )
    if not done.equal:
        raise Corrupt(
            f"the copy's digest is not that of the export, {done.expected}: something else was "
            "published to it meanwhile, or the file was changed"
        )


async def _export(settings: Settings, session: str | None, file: Path, quiet: bool) -> Exported:
    from weft.copies.exporting import export as write

    async with connection(settings, "export") as log:
        with progress("events", quiet) as on_progress:
            if str(file) == "-":
                return await write(log, settings.tenant, session, sys.stdout.buffer, on_progress)
            with _whole(file) as output:
                return await write(log, settings.tenant, session, output, on_progress)


async def _import(settings: Settings, session: str | None, file: Path, quiet: bool) -> Imported:
    from weft.copies.importing import import_ as read

    async with connection(settings, "import") as log:
        with progress("events", quiet) as on_progress:
            if str(file) == "-":
                source = sys.stdin.buffer
                return await read(log, source, settings.tenant, session, on_progress)
            with _opened(file, "rb") as content:
                return await read(log, content, settings.tenant, session, on_progress)


@contextmanager
def _whole(file: Path) -> Iterator[BinaryIO]:
    """A file that replaces `file` once it is written to its end, so that a failure leaves nothing,
    and an earlier export as it was. What is no regular file, such as a pipe, is written to."""
    if file.exists() and not file.is_file():
        with _opened(file, "wb") as output:
            yield output
        return
    target = file.resolve()
    draft = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with _opened(draft, "wb", named=file) as output:
            yield output
            output.flush()
            os.fsync(output.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _opened(file: Path, mode: Literal["rb", "wb"], named: Path | None = None) -> BinaryIO:
    """The file, open. Raises `InvalidInput` with the name that was given for it."""
    try:
        return file.open(mode)
    except OSError as error:
        raise InvalidInput(f"{named or file}: {error.strerror}") from None
