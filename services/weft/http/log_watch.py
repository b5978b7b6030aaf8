"""Logs when the process's own credential no longer reaches the log, as with a wrong password, and
when it does again. Without this, only the callers would learn of it, since each is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from weft.http.clients import Clients
from weft.http.grants import TokenGrant
from weft_schemas.errors import WeftError

POLL_SECONDS = 5.0


async def watch_log(clients: Clients, grant: TokenGrant, tell: Callable[[str], None]) -> None:
    """Call `tell` with a line at every change, until cancelled. `grant` has no credential of its
    own."""
    known = ""
    while True:
        fault = await _fault(clients, grant)
        if fault and fault != known:
            tell(f"requests do not reach the log: {fault}")
        elif known and not fault:
            tell("requests reach the log again")
        known = fault
        await asyncio.sleep(POLL_SECONDS)


async def _fault(clients: Clients, grant: TokenGrant) -> str:
    """Why the log is not reached, empty if it is."""
    try:
        connection = (await clients.of(grant)).connection
    except WeftError as error:
        return str(error)
    return "" if connection.is_up else "the connection to its server is lost"
