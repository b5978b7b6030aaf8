"""Calls that became tasks, for hosts that accept tasks: their state, questions and cancellation.
Their results are treated like all others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import mcp_types as types
import msgspec
from mcp import Client, MCPError
from pydantic import ValidationError

from weft.gateway.hosts import safe_messages
from weft.gateway.hosts.host import Host, HostCall
from weft.gateway.hosts.questions import Questions
from weft.gateway.log.host_log import HostLog
from weft.gateway.log.items import call_item, refusal_item, result_item
from weft.gateway.masking import Masking, safe_error, safe_value
from weft.gateway.protocol_json import dumped
from weft.gateway.resources import with_gateway_uris
from weft.gateway.results.host_result import misfit
from weft.gateway.tasks.handle import RunningTask, handle_of, task_of
from weft.gateway.tasks.protocol import (
    TaskState,
    answer,
    cancel,
    failure,
    finished,
    respond,
    state_of,
)
from weft.gateway.tools.catalogue import ToolCatalogue
from weft.gateway.tools.tool import GatewayTool
from weft.gateway.upstream.upstream import Upstream
from weft_schemas.items import ContextItem

PassesResult = Callable[
    [Host, ContextItem, GatewayTool, types.CallToolResult, int | None, str],
    Awaitable[types.CallToolResult],
]
"""Handles a raw result on its way to the host: logs it under an item's id, checks it, shortens
it."""
_MAX_REMEMBERED = 1_000


class TaskCalls:
    def __init__(
        self,
        upstreams: Mapping[str, Upstream],
        catalogue: ToolCatalogue,
        log: HostLog,
        questions: Questions,
        passed: PassesResult,
    ) -> None:
        self._upstreams = upstreams
        self._catalogue = catalogue
        self._log = log
        self._questions = questions
        self._passed = passed
        self._calls: dict[str, ContextItem] = {}
        """Calls of tasks that began in this gateway, by item id."""
        self._asked: set[str] = set()
        """Questions of tasks that have been logged."""

    async def began(
        self, host: Host, logged: ContextItem, tool: GatewayTool, task: TaskState
    ) -> dict[str, Any]:
        """What the host gets in place of a result."""
        masking = await self._log.masking(host)
        running = RunningTask(tool.id, task.task_id, logged.id, host.session)
        if len(self._calls) >= _MAX_REMEMBERED:
            del self._calls[next(iter(self._calls))]
        self._calls[logged.id] = logged
        self._upstreams[tool.server].idleness.keep_for(task.task_id, task.ttl_ms)
        return {"resultType": "task", **_shown_task(task, handle_of(running, masking), masking)}

    async def get(self, call: HostCall, handle: str, limit: int | None) -> dict[str, Any]:
        """A task's state, with its result if it has one. Raises `MCPError` and `WeftError`."""
        running, tool, host, masking = await self._of(call, handle)
        upstream = self._upstreams[tool.server]
        with self._questions.working(upstream, call):
            look = partial(_state_and_result, running, tool)
            state, result = await upstream.use(look)
        shown_task = _shown_task(state, handle, masking)
        if state.status == "input_required":
            shown_task["inputRequests"] = await self._questions_of(call, running, tool, state)
            return shown_task
        if state.status not in ("completed", "failed", "cancelled"):
            return shown_task
        upstream.idleness.keep_no_more(running.task)
        logged = self._logged(running, host)
        if result is not None:
            named = with_gateway_uris(result, tool.server)
            item_id = _item_id("result", running)
            shown = await self._passed(host, logged, tool, named, limit, item_id)
            shown_task["result"] = dumped(shown)
        elif state.status == "failed":
            error = failure(state)
            item = result_item(logged, error.message, is_error=True)
            await self._log.publish(host, _with_id(item, _item_id("result", running)))
            shown_error = safe_error(error, masking).error
            shown_task["error"] = dumped(shown_error)
        return shown_task

    async def update(
        self, call: HostCall, handle: str, responses: types.InputResponses
    ) -> types.EmptyResult:
        """Answer a task's questions. Raises as `get` does."""
        running, tool, host, _ = await self._of(call, handle)
        answers = {key: dumped(response) for key, response in responses.items()}
        await self._log.record(host, "tasks/update", {"call": running.call, **answers}, "answered")
        upstream = self._upstreams[tool.server]
        await upstream.use(lambda client: answer(client, running.task, responses))
        return types.EmptyResult()

    async def cancel(self, call: HostCall, handle: str) -> types.EmptyResult:
        """Ask the server to cancel a task. Raises as `get` does."""
        running, tool, host, _ = await self._of(call, handle)
        upstream = self._upstreams[tool.server]
        await upstream.use(lambda client: cancel(client, running.task))
        upstream.idleness.keep_no_more(running.task)
        item = refusal_item(self._logged(running, host), "cancelled by the host")
        await self._log.publish(host, _with_id(item, _item_id("cancelled", running)))
        return types.EmptyResult()

    async def _of(
        self, call: HostCall, handle: str
    ) -> tuple[RunningTask, GatewayTool, Host, Masking]:
        """The task of a handle, and who made the call. Raises `MCPError`."""
        running = task_of(handle, await self._log.masking(call.host))
        if running is None:
            raise MCPError(types.INVALID_PARAMS, "there is no such task")
        if not self._catalogue.has(running.tool):
            await self._catalogue.wait_until_known()
        if not self._catalogue.has(running.tool):
            raise MCPError(types.INVALID_PARAMS, f"the task's tool {running.tool} is not here now")
        host = Host(self._log.session_after(running.session), call.host.name, True)
        tool = self._catalogue.tool(running.tool)
        return running, tool, host, await self._log.masking(host)

    def _logged(self, running: RunningTask, host: Host) -> ContextItem:
        """The call's item; without its arguments if an earlier gateway made the call."""
        known = self._calls.get(running.call)
        if known is not None:
            return known
        item = call_item(running.tool, {}, host.name)
        metadata = {**item.metadata, "call_id": running.call}
        return msgspec.structs.replace(item, id=running.call, metadata=metadata)

    async def _questions_of(
        self, call: HostCall, running: RunningTask, tool: GatewayTool, state: TaskState
    ) -> dict[str, Any]:
        """The questions that the host may be asked; the others are declined."""
        upstream = self._upstreams[tool.server]
        masking = await self._log.masking(call.host)
        shown: dict[str, Any] = {}
        for key, request in (state.input_requests or {}).items():
            reason = self._unaskable(call, upstream, request)
            question = None if reason else safe_messages.question(request, masking)
            if question is not None:
                shown[key] = dumped(question)
            await self._log_question(
                call.host, f"{running.call} {key}", upstream, request, question
            )
            if question is None:
                reason = reason or "it is too long, or holds a secret where none can be masked"
                refusal = types.ErrorData(code=types.INVALID_REQUEST, message=reason)
                await upstream.use(partial(respond, running.task, key, request, refusal))
        return shown

    async def _log_question(
        self,
        host: Host,
        key: str,
        upstream: Upstream,
        request: types.InputRequest,
        question: types.InputRequest | None,
    ) -> None:
        """Done once, however often the task is queried."""
        if key in self._asked:
            return
        if len(self._asked) >= _MAX_REMEMBERED:
            self._asked.clear()
        self._asked.add(key)
        name = f"{upstream.name}:{request.method}"
        params = dumped(question).get("params") if question is not None else None
        asked = call_item(name, params or {}, upstream.name)
        said = "asked the host" if question is not None else "not asked"
        await self._log.publish(host, asked, result_item(asked, said, is_error=question is None))

    def _unaskable(self, call: HostCall, upstream: Upstream, request: types.InputRequest) -> str:
        if isinstance(request, types.CreateMessageRequest) and not upstream.spec.sampling:
            return f"server {upstream.name!r} may not ask the host's model by this gateway's file"
        return "" if call.can_answer(request) else f"the host does not answer {request.method}"


async def _state_and_result(
    running: RunningTask, tool: GatewayTool, client: Client
) -> tuple[TaskState, types.CallToolResult | None]:
    """What the server says about a task, and the result of one that is completed."""
    state = await state_of(client, running.task)
    if state.status != "completed":
        return state, None
    try:
        return state, await finished(client, tool.name, state)
    except (RuntimeError, ValidationError) as error:
        text = types.TextContent(text=misfit(tool.id, error))
        return state, types.CallToolResult(content=[text], is_error=True)


def _shown_task(state: TaskState, handle: str, masking: Masking) -> dict[str, Any]:
    """A task as the protocol writes it, without secrets and without its result."""
    shown_task = {
        "status": state.status,
        "statusMessage": safe_messages.progress_message(state.status_message, masking),
        "createdAt": state.created_at,
        "lastUpdatedAt": state.last_updated_at,
        "pollIntervalMs": state.poll_interval_ms,
    }
    shown: dict[str, Any] = safe_value(
        {k: v for k, v in shown_task.items() if v is not None}, masking
    )
    return {**shown, "taskId": handle, "ttlMs": state.ttl_ms}


def _item_id(kind: str, running: RunningTask) -> str:
    """The same at each query of a task, so that the log accepts it once."""
    return f"{kind}-of-{running.call}"


def _with_id(item: ContextItem, item_id: str) -> ContextItem:
    return msgspec.structs.replace(item, id=item_id)
