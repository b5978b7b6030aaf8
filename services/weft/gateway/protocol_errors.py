"""Errors of weft's log and of upstream servers, as the protocol's errors that a host gets."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import mcp_types as types
from mcp import MCPError

from weft.gateway.hosts.host import Host, HostCall
from weft.gateway.log.host_log import HostLog
from weft.gateway.masking import Masking, safe_error
from weft_schemas.errors import InvalidInput, WeftError


async def masking_of(log: HostLog, host: Host) -> Masking:
    """As the log's, whose errors become the protocol's: they say what to set or start."""
    try:
        return await log.masking(host)
    except WeftError as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from None


async def as_protocol_errors(log: HostLog, call: HostCall, done: Awaitable[Any]) -> Any:
    """Runs the work; errors of the log or the server become the protocol's errors."""
    try:
        return await done
    except WeftError as error:
        code = types.INVALID_PARAMS if isinstance(error, InvalidInput) else types.INTERNAL_ERROR
        raise MCPError(code, str(error)) from None
    except MCPError as error:
        raise safe_error(error, await masking_of(log, call.host)) from None
