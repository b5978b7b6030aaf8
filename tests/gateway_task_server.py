"""A server of the SDK's own making that makes tasks of calls (SEP-2663) for clients that take them:
`-m tests.gateway_task_server PORT`. A task is done when it was looked at twice."""

import os
import secrets
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import Sequence
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import uvicorn
from mcp import MCPError
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import MCPServer, require_client_extension

from tests.gateway_http_server import until_open
from tests.gateway_server import KEY
from tests.integration.preloaded import program
from weft.gateway.tasks.protocol import TASKS, TaskParams, UpdateParams

TIME = "2026-11-24T10:00:00Z"
QUESTION = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": f"Your name, and not {KEY}?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
}


class Work:
    def __init__(self, tool: str, arguments: dict[str, Any]) -> None:
        self.tool, self.arguments = tool, arguments
        self.looks = 0
        self.status = "working"
        self.answers: dict[str, Any] = {}


class Tasks(Extension):
    identifier = TASKS

    def __init__(self) -> None:
        self.works: dict[str, Work] = {}

    def methods(self) -> Sequence[MethodBinding]:
        modern = frozenset({"2026-07-28"})
        return (
            MethodBinding("tasks/get", TaskParams, self.get, modern),
            MethodBinding("tasks/update", UpdateParams, self.update, modern),
            MethodBinding("tasks/cancel", TaskParams, self.cancel, modern),
        )

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        able = ctx.session.client_capabilities
        if params.name == "states" or TASKS not in ((able and able.extensions) or {}):
            return await call_next(ctx)
        task = secrets.token_hex(8)
        self.works[task] = Work(params.name, params.arguments or {})
        return {**self.shown(task), "resultType": "task"}

    def shown(self, task: str) -> dict[str, Any]:
        work = self.works[task]
        return {
            "taskId": task, "status": work.status, "statusMessage": f"{work.status}, not {KEY}",
            "createdAt": TIME, "lastUpdatedAt": TIME, "ttlMs": 60_000, "pollIntervalMs": 60,
        }  # fmt: skip

    async def get(self, ctx: Any, params: TaskParams) -> dict[str, Any]:
        require_client_extension(ctx, TASKS)
        work = self._work(params)
        work.looks += 1
        more: dict[str, Any] = {}
        if work.tool == "asks" and not work.answers:
            work.status, more = "input_required", {"inputRequests": {"name": QUESTION}}
        elif work.tool != "endless" and work.status != "cancelled" and work.looks >= 2:
            work.status = "completed"
            match work.tool:
                case "fails":
                    work.status = "failed"
                    more = {"error": {"code": -32603, "message": f"no more of {KEY}"}}
                case "asks":
                    more = {"result": said(f"named {work.answers['name']}")}
                case "misfits":
                    more = {"result": {"content": [], "isError": False}}
                case _:
                    rows = [f"row {n} of many" for n in range(work.arguments.get("rows", 1))]
                    more = {"result": said("\n".join([*rows, f"aws_access_key_id = {KEY}"]))}
        return {**self.shown(params.task_id), **more}

    async def update(self, ctx: Any, params: UpdateParams) -> types.EmptyResult:
        answers = params.input_responses.items()
        self._work(params).answers |= {
            key: one.model_dump(mode="json", exclude_none=True) for key, one in answers
        }
        return types.EmptyResult()

    async def cancel(self, ctx: Any, params: TaskParams) -> types.EmptyResult:
        self._work(params).status = "cancelled"
        return types.EmptyResult()

    def _work(self, params: TaskParams) -> Work:
        if params.task_id not in self.works:
            raise MCPError(types.INVALID_PARAMS, "Task not found")
        return self.works[params.task_id]


def said(text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"content": content, "structuredContent": {"result": text}, "isError": False}


TASKS_HERE = Tasks()
served: MCPServer[Any] = MCPServer("long", extensions=[TASKS_HERE])


@served.tool()
def states() -> list[str]:
    """Tell how each task is."""
    return [f"{work.tool} {work.status}" for work in TASKS_HERE.works.values()]


@served.tool()
def counts(rows: int = 1) -> str:
    """Count rows."""
    return "at once"


@served.tool()
def asks() -> str:
    """Ask for a name."""
    return "at once"


@served.tool()
def fails() -> str:
    """Fail."""
    return "at once"


@served.tool()
def misfits() -> str:
    """Give something else than it says."""
    return "at once"


@served.tool()
def endless() -> str:
    """Work without end."""
    return "at once"


@asynccontextmanager
async def at_port(port: int) -> Any:
    """The server as a process of its own."""
    command = ("tests.gateway_task_server", str(port))
    made = await program(*command, env=os.environ, stdout=DEVNULL, stderr=DEVNULL)
    try:
        await until_open(port)
        yield
    finally:
        made.kill()
        await made.wait()


if __name__ == "__main__":
    uvicorn.run(served.streamable_http_app(), port=int(sys.argv[1]), log_level="error")
