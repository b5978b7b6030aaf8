"""`weft doctor`: what could keep weft from working, on this machine and with this server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from weft.cli.connecting import connected, json_option, named_server, running
from weft.cli.output import hint, print_json, table
from weft.runtime.settings import Settings

if TYPE_CHECKING:
    from weft.audit.doctor.check import Check


@click.command()
@click.option("--data", "data_dir", type=click.Path(path_type=Path), metavar="DIR",
              help="Data folder.  [WEFT_DATA_DIR, else ./weft-data]")  # fmt: skip
@click.option("--permissions", type=click.Path(path_type=Path), metavar="PATH",
              help="nats-server's file of a tenant, or the folder of such files.")  # fmt: skip
@json_option
@connected
@click.pass_context
def doctor(
    ctx: click.Context,
    data_dir: Path | None,
    permissions: Path | None,
    as_json: bool,
    settings: Settings,
) -> None:
    """Check versions, ports, permissions, disk, clock, the server's settings, the log, a cluster's
    nodes and the data folder. For each the command says what weft would do, or what you should do.
    Nothing is changed.

    With --permissions, the rights of the tenants' users are compared with those that this
    release needs: a file copied from an earlier release may grant too much.

    The exit code is 1 if a check failed.

    \b
    Examples:
      weft doctor
      weft doctor --nats nats://10.0.0.5:4222 --user admin
      weft doctor --permissions deploy/nats/tenants
      weft doctor --json | jq '.[] | select(.state != "ok")'
    """
    from weft.audit.doctor.examine import examine

    if data_dir is not None:
        settings = msgspec.structs.replace(settings, data_dir=data_dir)
    checks = running(examine(settings, named_server() is not None, permissions))
    if as_json:
        print_json(checks)
    else:
        table("", ["", "", "found", "do"], [_row(check) for check in checks])
    faults = sum(check.state == "fault" for check in checks)
    if not as_json:
        counted = "1 fault" if faults == 1 else f"{faults} faults"
        hint(f"\n{counted}" if faults else "\nnothing is at fault")
    ctx.exit(1 if faults else 0)


def _row(check: Check) -> list[str]:
    return [check.state, check.name, check.found, check.do]
