"""Keeps tenants' own events in a log with an age limit, as long as weft runs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path

from weft.log.connection import Connection
from weft.log.timeouts import cancelled
from weft.log.transport import connect
from weft.runtime.settings import Settings
from weft.supervision.own_events import renew
from weft_schemas.errors import WeftError

_log = logging.getLogger(__name__)
MAX_RENEWAL_PAUSE = 3_600.0
RENEWAL_SHARE = 0.1
"""Between two looks for what is to be published again: at most so many seconds, or this share of
the age limit."""


async def renew_or_warn(connection: Connection, data_dir: Path) -> None:
    """Publish tenants' own events again that would leave the log by age. If that cannot be done,
    the log says so, and `weft doctor` before they leave."""
    try:
        for one in await renew(connection, data_dir):
            _log.info("published again, since the log has an age limit: %s", one)
    except WeftError as error:
        _log.warning(
            "policies, grants, catalogues and tombstones are not published again yet: %s", error
        )


@contextlib.asynccontextmanager
async def renewing(settings: Settings) -> AsyncIterator[None]:
    """`renew_or_warn` again and again in a log with an age limit."""
    if not settings.max_age_seconds:
        yield
        return
    connection = await connect(name="weft-renew", **settings.connection())
    renewing = asyncio.create_task(_keep_renewing(connection, settings))
    try:
        yield
    finally:
        await cancelled(renewing)
        await connection.close()


async def _keep_renewing(connection: Connection, settings: Settings) -> None:
    pause = min(MAX_RENEWAL_PAUSE, settings.max_age_seconds * RENEWAL_SHARE)
    while True:
        await asyncio.sleep(pause)
        await renew_or_warn(connection, settings.data_dir)
