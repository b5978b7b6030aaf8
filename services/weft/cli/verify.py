"""`weft verify`: checks that log, derived events, bodies and read model agree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from weft.cli.connecting import connected, connection, json_option, running
from weft.cli.output import hint, print_json, printable
from weft.runtime.settings import Settings

if TYPE_CHECKING:
    from weft.audit.checks import AuditFinding
    from weft.audit.verify import Verification


@click.command()
@click.option("--data", "data_dir", type=click.Path(path_type=Path), metavar="DIR",
              help="The replica's data folder.  [WEFT_DATA_DIR, else ./weft-data]")  # fmt: skip
@json_option
@connected
@click.pass_context
def verify(ctx: click.Context, data_dir: Path | None, as_json: bool, settings: Settings) -> None:
    """Audit the log of all tenants and the replica on a data folder; nothing is changed.

    The log is folded into a separate new file. The audit looks for untrusted items with no
    envelope or with two, missing parents and sources, events that cannot be decoded, missing
    messages that no erasure explains, missing or damaged bodies, and a read model that
    contradicts the log or belongs to another one. Each finding says how to repair it. The exit
    code is 1 if there are faults; notes are not faults.

    \b
    Examples:
      weft verify
      weft verify --data /var/lib/weft --json | jq '.faults[].mend'
    """
    done = running(_verified(settings, data_dir or settings.data_dir, as_json))
    if as_json:
        notes = [finding for finding in done.findings if finding.note]
        counts = {"sequence": done.sequence, "compared": done.compared, "bodies": done.bodies}
        shown = {"ok": not done.faults, **counts, "digest": done.digest}
        print_json({**shown, "faults": msgspec.to_builtins(done.faults), "notes": notes})
    else:
        _tell(done)
    ctx.exit(1 if done.faults else 0)


async def _verified(settings: Settings, data_dir: Path, quiet: bool) -> Verification:
    from weft.audit.verify import verify as audit
    from weft.cli.progress import steps

    async with connection(settings, "verify") as log:
        with steps(quiet) as on_progress:
            return await audit(log, data_dir, settings.encoding, on_progress)


def _tell(done: Verification) -> None:
    for title, findings in (
        ("faults", done.faults),
        ("notes", [finding for finding in done.findings if finding.note]),
    ):
        if findings:
            click.secho(title, bold=True)
        for finding in findings:
            _tell_finding(finding)
    compared = f"compared at {done.compared}" if done.compared else "no read model compared"
    faults = "1 fault" if len(done.faults) == 1 else f"{len(done.faults)} faults"
    hint(f"\n{faults} up to sequence {done.sequence}, {compared}, {done.bodies} bodies hashed")


def _tell_finding(finding: AuditFinding) -> None:
    """On lines of its own, since in columns it would be wider than any terminal."""
    session = f"{finding.tenant}/{finding.session}" if finding.tenant else ""
    event = f"event {finding.sequence}" if finding.sequence else ""
    item = f"item {finding.item_id}" if finding.item_id else ""
    for line in (
        "  ".join(filter(None, (finding.kind, session, event, item))),
        f"  {finding.what}",
        f"  mend: {finding.mend}" if finding.mend else "",
    ):
        if line:
            click.echo(printable(line))
