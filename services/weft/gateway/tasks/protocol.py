"""Tasks on the wire: how a server reports on work that goes on after it has replied. In the
current protocol they are an extension (SEP-2663), for which the SDK has a hook. In 2025-11-25 they
are part of the protocol, and the SDK has the types."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

import mcp_types as types
from mcp import Client, MCPError
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.shared.dispatcher import ProgressFnT

from weft.gateway.upstream.protocol_version import is_modern

TASKS = "io.modelcontextprotocol/tasks"
_EVERY_SECONDS = 1.0
"""Between two queries of a task whose server suggests no interval, …"""
_MIN_SECONDS, _MAX_SECONDS = 0.05, 30.0
"""… and the bounds of a suggested one."""
_ASKING_SECONDS = 600.0
"""For a person to answer a question of a task of 2025-11-25 before its result."""
ENDED = ("completed", "failed", "cancelled")


class Task(types.Result):
    """A task's state."""

    task_id: str
    status: str
    status_message: str | None = None
    created_at: str = ""
    last_updated_at: str = ""
    ttl_ms: int | None = None
    poll_interval_ms: int | None = None


class TaskState(Task):
    """With its result once it has ended, and with its questions while it waits."""

    input_requests: types.InputRequests | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class CreatedTask(Task):
    """What a server returns in place of a call's result."""

    result_type: Literal["task"] = "task"


class TaskParams(types.RequestParams):
    task_id: str


class UpdateParams(TaskParams):
    input_responses: types.InputResponses


class _Get(types.Request[TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    params: TaskParams
    name_param = "taskId"


class _Update(types.Request[UpdateParams, Literal["tasks/update"]]):
    method: Literal["tasks/update"] = "tasks/update"
    params: UpdateParams
    name_param = "taskId"


class _Cancel(types.Request[TaskParams, Literal["tasks/cancel"]]):
    method: Literal["tasks/cancel"] = "tasks/cancel"
    params: TaskParams
    name_param = "taskId"


class BecameTask(Exception):
    """A server made a task of a call. Leaves the SDK's call; `calls.py` goes on with the task."""

    def __init__(self, task: TaskState) -> None:
        super().__init__(f"the call became the task {task.task_id}")
        self.task = task


class TaskExtension(ClientExtension):
    """Lets servers of the current protocol make tasks of calls; `BecameTask` is raised for such a
    call."""

    identifier = TASKS

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return (ResultClaim(result_type="task", model=CreatedTask, resolve=_defer),)


async def _defer(created: CreatedTask, context: ClaimContext) -> types.CallToolResult:
    raise BecameTask(TaskState.model_validate(created.model_dump(by_alias=True), by_name=False))


async def call_tool(
    client: Client,
    tool: types.Tool,
    arguments: dict[str, Any],
    report: ProgressFnT,
    meta: types.RequestParamsMeta | None,
) -> types.CallToolResult:
    """Raises `BecameTask` if it becomes a task."""
    support = tool.execution.task_support if tool.execution is not None else None
    if support != "required" or is_modern(client):
        return await client.call_tool(tool.name, arguments, progress_callback=report, meta=meta)
    wanted = types.TaskMetadata()
    params = types.CallToolRequestParams(
        name=tool.name, arguments=arguments, task=wanted, _meta=meta
    )
    made = await client.session.send_request(
        types.CallToolRequest(params=params), _ResultOrTask, progress_callback=report
    )
    if made.task is None:
        return types.CallToolResult.model_validate(made.model_dump(by_alias=True), by_name=False)
    raise BecameTask(_from_2025(made.task))


class _ResultOrTask(types.CallToolResult):
    """In 2025-11-25: a result, or a task in its place."""

    content: list[types.ContentBlock] = []
    task: types.Task | None = None


def _from_2025(task: types.Task) -> TaskState:
    return TaskState(
        task_id=task.task_id,
        status=task.status,
        status_message=task.status_message,
        created_at=task.created_at,
        last_updated_at=task.last_updated_at,
        ttl_ms=task.ttl,
        poll_interval_ms=task.poll_interval,
    )


async def state_of(client: Client, task_id: str) -> TaskState:
    """A task's state now. Raises `MCPError`."""
    request = _Get(params=TaskParams(task_id=task_id))
    if is_modern(client):
        return await client.session.send_request(request, TaskState)
    return _from_2025(await client.session.send_request(request, types.GetTaskResult))


async def answer(client: Client, task_id: str, responses: types.InputResponses) -> None:
    """Answer a task's questions; only in the current protocol."""
    params = UpdateParams(task_id=task_id, input_responses=responses)
    await client.session.send_request(_Update(params=params), types.EmptyResult)


async def cancel(client: Client, task_id: str) -> None:
    await client.session.send_request(
        _Cancel(params=TaskParams(task_id=task_id)), types.EmptyResult
    )


async def outcome(
    client: Client,
    tool: str,
    task: TaskState,
    asked: Callable[[types.InputRequest], Awaitable[Any]],
    report: ProgressFnT,
) -> types.CallToolResult:
    """Wait for a task's result. `asked` gets each of its questions and returns the answer, or an
    `ErrorData`. Raises `MCPError` if the task failed or was cancelled."""
    state, answered, reports = task, set[str](), 0
    message = task.status_message
    while state.status not in ENDED:
        await asyncio.sleep(_pause(state))
        state = await state_of(client, task.task_id)
        if state.status_message and state.status_message != message:
            message, reports = state.status_message, reports + 1
            await report(reports, None, message)
        if state.status == "input_required" and not is_modern(client):
            break  # its questions come while the result is waited for
        for key, request in (state.input_requests or {}).items():
            if key not in answered:
                answered.add(key)
                response = await asked(request)
                await respond(task.task_id, key, request, response, client)
    if not is_modern(client) and state.status != "cancelled":
        wanted = types.GetTaskPayloadRequestParams(task_id=task.task_id)
        return await client.session.send_request(
            types.GetTaskPayloadRequest(params=wanted),
            types.CallToolResult,
            request_read_timeout_seconds=_ASKING_SECONDS,
        )
    return await finished(client, tool, state)


async def finished(client: Client, tool: str, state: TaskState) -> types.CallToolResult:
    """The result of a task that has ended. Raises `MCPError` if it failed."""
    if state.status != "completed":
        raise failure(state)
    result = types.CallToolResult.model_validate(state.result or {}, by_name=False)
    if not result.is_error:
        await client.session.validate_tool_result(tool, result)
    return result


def failure(state: TaskState) -> MCPError:
    """The error of a task that failed or was cancelled."""
    error = state.error or {}
    code, message = error.get("code"), error.get("message")
    reason = message or state.status_message or f"the server's task was {state.status}"
    return MCPError(
        code if isinstance(code, int) else types.INTERNAL_ERROR, str(reason), error.get("data")
    )


async def respond(
    task_id: str, key: str, request: types.InputRequest, response: Any, client: Client
) -> None:
    """Answer a task's question. A question without an answer is declined; if that is not possible,
    the task is cancelled."""
    if not isinstance(response, types.ErrorData):
        await answer(client, task_id, {key: response})
    elif isinstance(request, types.ElicitRequest):
        await answer(client, task_id, {key: types.ElicitResult(action="decline")})
    else:
        await cancel(client, task_id)
        raise MCPError.from_error_data(response)


def _pause(state: TaskState) -> float:
    wanted = _EVERY_SECONDS if state.poll_interval_ms is None else state.poll_interval_ms / 1_000
    return min(max(wanted, _MIN_SECONDS), _MAX_SECONDS)
