"""Why an upstream server cannot be used, or ended in a call, in the words that hosts and operators
read."""

from __future__ import annotations

import httpx2
import mcp_types as types
from mcp import MCPError

from weft.gateway.configuration.config import ServerSpec
from weft.gateway.transports.stdio import StdioServer
from weft.gateway.transports.watched_transport import WatchedTransport
from weft.secrets.scanning import without_secrets
from weft_schemas.errors import Unavailable


def start_fault(
    spec: ServerSpec,
    stdio: StdioServer | None,
    transport: WatchedTransport | None,
    error: BaseException,
) -> str:
    """Why the server did not start or did not stay. `stdio` is its process, if it has one."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    fault = stdio.fault if stdio else ""
    if fault or isinstance(error, Unavailable):
        return fault or str(error)
    if isinstance(error, FileNotFoundError):
        return f"{spec.command!r} is not installed here; mend `command` in the file"
    if isinstance(error, MCPError) and error.code == types.CONNECTION_CLOSED:
        return f"it ended{last_words(stdio)}"
    is_refused = isinstance(error, MCPError | httpx2.HTTPStatusError)
    if is_refused and transport is not None and transport.fault:
        return transport.fault
    return f"{str(error) or type(error).__name__}{last_words(stdio)}"


def call_fault(name: str, stdio: StdioServer | None, transport: WatchedTransport | None) -> str:
    """Why a call that was sent has no answer."""
    if transport is not None and stdio is None and transport.fault:
        return f"server {name!r} did not take the call: {transport.fault}"
    fault = stdio.fault if stdio else ""
    return (
        f"server {name!r} ended in the call ({fault or 'it closed the connection'}"
        f"{last_words(stdio)}); whether it did what was asked is unknown"
    )


def last_words(stdio: StdioServer | None) -> str:
    """The last line that its process wrote as an error, without secrets; empty for none."""
    said = stdio.said().strip() if stdio else ""
    if not said:
        return ""
    return f"; it last said: {without_secrets(said.splitlines()[-1][:300], b'')}"
