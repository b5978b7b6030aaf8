"""Looks for anything that could keep weft from working on this machine and with this server.

Nothing is changed. Each check says what it found, and what weft would do or what you should do."""

from __future__ import annotations

from pathlib import Path

from weft.audit.doctor.check import Check
from weft.audit.doctor.machine import (
    binary,
    data_folder,
    disk,
    permission_files,
    port,
    read_model,
    versions,
)
from weft.audit.doctor.server import server
from weft.log.transport import connect
from weft.runtime.settings import Settings
from weft_schemas.errors import WeftError


async def examine(
    settings: Settings, server_is_named: bool, permissions: Path | None = None
) -> list[Check]:
    """Make all checks.

    `server_is_named` says whether a server was chosen; if not, `weft up` would start one.
    `permissions` is a tenant's file for nats-server, or a folder of such files.
    """
    checks = [*versions(), *data_folder(settings.data_dir), *disk(settings.data_dir)]
    checks += permission_files(permissions) if permissions is not None else ()
    checks += await read_model(settings)
    try:
        log = await connect(name="weft-doctor", **settings.connection())
    except WeftError as error:
        if server_is_named:
            what = "start it, or name another one with --nats or WEFT_NATS_URL"
            return [*checks, Check("server", "fault", str(error), what)]
        return [*checks, *port(), *binary()]
    try:
        return [*checks, *(await server(log, settings))]
    finally:
        await log.close()
