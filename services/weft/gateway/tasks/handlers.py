"""The protocol's requests about tasks that a host sends: see how far one is, answer what it asks,
cancel it."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import require_client_extension

from weft.gateway.gateway import Gateway
from weft.gateway.hosts.host import Context, HostCall, result_limit
from weft.gateway.protocol_errors import as_protocol_errors
from weft.gateway.tasks.protocol import TASKS, TaskParams, UpdateParams


class TaskHandlers:
    """The handlers of one gateway."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def register(self, server: Server[Any]) -> None:
        """Let the server announce the extension and answer its requests."""
        server.extensions[TASKS] = {}
        server.add_request_handler("tasks/get", TaskParams, self._get)
        server.add_request_handler("tasks/update", UpdateParams, self._update)
        server.add_request_handler("tasks/cancel", TaskParams, self._cancel)

    async def _get(self, context: Context, params: TaskParams) -> dict[str, Any]:
        call, limit = self._call(context), result_limit(dict(params.meta or {}))
        tasks, log = self._gateway.calls.tasks, self._gateway.log
        task: dict[str, Any] = await as_protocol_errors(
            log, call, tasks.get(call, params.task_id, limit)
        )
        return task

    async def _update(self, context: Context, params: UpdateParams) -> Any:
        call = self._call(context)
        done = self._gateway.calls.tasks.update(call, params.task_id, params.input_responses)
        return await as_protocol_errors(self._gateway.log, call, done)

    async def _cancel(self, context: Context, params: TaskParams) -> Any:
        call = self._call(context)
        done = self._gateway.calls.tasks.cancel(call, params.task_id)
        return await as_protocol_errors(self._gateway.log, call, done)

    def _call(self, context: Context) -> HostCall:
        call = HostCall(self._gateway.hosts.of(context), context)
        if not call.host.is_modern:
            raise MCPError(types.METHOD_NOT_FOUND, "tasks are of protocol 2026-07-28 here")
        require_client_extension(context, TASKS)
        return call
