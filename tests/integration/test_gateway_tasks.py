"""Calls that a server makes tasks of: passed on to hosts that take tasks, waited for where a host
takes none, and their results as every result."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import msgspec
import pytest
from mcp import Client, MCPError
from mcp.client.extension import advertise
from tests.gateway import LEFT_SOCKETS, QUICK, called, gateway, host, logged, text_of
from tests.gateway_server import KEY
from tests.gateway_task_server import at_port
from tests.integration.test_gateway_protocol import elicit
from tests.npm import installed

from weft.gateway.configuration.config import ServerSpec
from weft.gateway.tasks.protocol import TASKS, TaskExtension, answer, cancel, state_of
from weft.log.connection import Connection
from weft.supervision.embedded_server import EmbeddedServer
from weft.supervision.reserved_ports import Port

pytestmark = LEFT_SOCKETS


def long(port: int) -> ServerSpec:
    return ServerSpec(
        name="long", transport="http", url=f"http://127.0.0.1:{port}/mcp", limits=QUICK
    )


@pytest.fixture
async def port() -> AsyncIterator[int]:
    number = Port().number
    async with at_port(number):
        yield number


@asynccontextmanager
async def tasking(running: Any, **more: Any) -> AsyncIterator[Client]:
    """A host that takes tasks."""
    async with host(running, "2026-07-28", extensions=[TaskExtension()], **more) as client:
        yield client


async def begun(client: Client, tool: str, **arguments: Any) -> Any:
    """The task that a call became."""
    return await client.session.call_tool(
        "call_tool", {"tool": tool, "arguments": arguments}, allow_claimed=True
    )


async def ended(client: Client, task: str) -> Any:
    async with asyncio.timeout(20):
        while (state := await state_of(client, task)).status == "working":
            await asyncio.sleep(0.02)
    return state


@pytest.mark.parametrize("protocol", ["legacy", "2026-07-28"])
async def test_a_host_that_takes_no_tasks_gets_the_result(
    log: Connection, server: EmbeddedServer, tmp_path: Path, port: int, protocol: str
) -> None:
    messages: list[str] = []

    async def report(done: float, total: float | None, message: str | None) -> None:
        messages.append(message or "")

    able = {"elicitation_callback": elicit}
    async with (
        gateway(server.url, tmp_path, long(port)) as running,
        host(running, protocol, **able) as client,
    ):
        result = await client.call_tool(
            "call_tool", {"tool": "long:counts", "arguments": {}}, progress_callback=report
        )
        assert "aws_access_key_id" in text_of(result)
        assert KEY not in text_of(result)
        assert KEY not in str(messages)
        assert "Ada" in text_of(await called(client, "long:asks"))
        failed = await called(client, "long:fails")
        assert failed.is_error
        assert "no more of" in text_of(failed)
        assert KEY not in text_of(failed)
    items = await logged(log)
    assert KEY in str([item.text for item in items])  # what is raw is in the log
    results = [item for item in items if item.metadata.get("tool_name") == "long:counts"]
    assert [item.kind.value for item in results] == ["tool_call", "tool_result"]


async def test_a_host_that_takes_tasks_gets_a_handle_and_looks_for_the_result(
    log: Connection, server: EmbeddedServer, tmp_path: Path, port: int
) -> None:
    async with gateway(server.url, tmp_path, long(port)) as running, tasking(running) as client:
        task = await begun(client, "long:counts", rows=9_000)
        assert task.status == "working"
        assert KEY not in str(task)
    # Another gateway, another host of the tenant's: the handle is good there, too.
    async with (
        gateway(server.url, tmp_path, long(port)) as later,
        tasking(later) as client,
    ):
        first, second = await ended(client, task.task_id), await state_of(client, task.task_id)
        assert (first.status, first.task_id) == ("completed", task.task_id)
        shown = types.CallToolResult.model_validate(first.result)
        assert "tokens are shown" in text_of(shown)  # shortened, under a handle
        assert KEY not in str(first)
        assert second.result == first.result
        handle = text_of(shown).split('handle="')[1][:14]
        look = {"handle": handle, "view": "lines", "args": {"start": 8_000, "count": 1}}
        assert "row 7999" in text_of(await client.call_tool("look_into_result", look))
    items = [i for i in await logged(log) if i.metadata.get("tool_name") == "long:counts"]
    assert [item.kind.value for item in items] == ["tool_call", "tool_result"]
    assert items[1].parent_id == items[0].id


async def test_a_server_is_not_idle_while_it_works_on_a_task(
    log: Connection, server: EmbeddedServer, tmp_path: Path, port: int
) -> None:
    limits = msgspec.structs.replace(QUICK, idle_seconds=0.3)
    spec = msgspec.structs.replace(long(port), limits=limits)
    async with gateway(server.url, tmp_path, spec) as running, tasking(running) as client:
        task = (await begun(client, "long:endless")).task_id
        await asyncio.sleep(1.0)
        assert running.upstreams["long"].state == "called"
        await cancel(client, task)
        async with asyncio.timeout(20):
            while running.upstreams["long"].state != "known":
                await asyncio.sleep(0.02)


async def test_what_a_task_asks_and_how_it_fails_reach_the_host_without_secrets(
    log: Connection, server: EmbeddedServer, tmp_path: Path, port: int
) -> None:
    async with (
        gateway(server.url, tmp_path, long(port)) as running,
        tasking(running, elicitation_callback=elicit) as client,
    ):
        task = await begun(client, "long:asks")
        waiting = await ended(client, task.task_id)
        assert waiting.status == "input_required"
        assert "Your name" in waiting.input_requests["name"].params.message
        assert KEY not in str(waiting)
        given = types.ElicitResult(action="accept", content={"name": "Ada"})
        await answer(client, task.task_id, {"name": given})
        done = await ended(client, task.task_id)
        assert "Ada" in str(done.result)
        failing = await begun(client, "long:fails")
        failed = await ended(client, failing.task_id)
        assert (failed.status, failed.error["code"]) == ("failed", -32603)
        odd = await ended(client, (await begun(client, "long:misfits")).task_id)
        assert "does not fit its own description" in str(odd.result)
        assert KEY not in str(failed)
    names = [item.metadata.get("tool_name") for item in await logged(log)]
    assert {"long:elicitation/create", "tasks/update", "long:fails"} <= set(names)
    assert names.count("long:elicitation/create") == 2  # a question and that it was put, once


async def test_what_a_host_cannot_answer_is_declined(
    log: Connection, server: EmbeddedServer, tmp_path: Path, port: int
) -> None:
    async with gateway(server.url, tmp_path, long(port)) as running:
        async with tasking(running) as client:
            task = await begun(client, "long:asks")
            state = await ended(client, task.task_id)
            assert not state.input_requests
            done = await ended(client, task.task_id)
            async with asyncio.timeout(20):
                while done.status != "completed":
                    done = await state_of(client, task.task_id)
            assert "decline" in str(done.result)
        async with host(running) as plain:
            assert "decline" in text_of(await called(plain, "long:asks"))


async def test_a_cancelled_task_is_cancelled_at_its_server(
    log: Connection, server: EmbeddedServer, tmp_path: Path, port: int
) -> None:
    async with gateway(server.url, tmp_path, long(port)) as running:
        async with tasking(running) as client:
            task = await begun(client, "long:endless")
            await cancel(client, task.task_id)
            assert (await ended(client, task.task_id)).status == "cancelled"
        async with host(running) as plain:
            call = asyncio.create_task(called(plain, "long:endless"))
            async with asyncio.timeout(20):
                while "endless working" not in text_of(await called(plain, "long:states")):
                    await asyncio.sleep(0.02)
                call.cancel()
                await asyncio.gather(call, return_exceptions=True)
                while "endless working" in text_of(await called(plain, "long:states")):
                    await asyncio.sleep(0.02)
    assert "cancelled by the host" in [item.text for item in await logged(log)]


async def test_nobody_looks_at_a_task_that_was_not_begun_here(
    log: Connection, server: EmbeddedServer, tmp_path: Path, port: int
) -> None:
    async with gateway(server.url, tmp_path, long(port)) as running:
        async with tasking(running) as client:
            task = (await begun(client, "long:counts")).task_id
            written, _, seal = task.partition(".")
            for forged in ("", "x", written, f"{written}.{'0' * 32}", f"{written}x.{seal}", "ä.ö"):
                with pytest.raises(MCPError, match="there is no such task") as refused:
                    await state_of(client, forged)
                assert refused.value.code == types.INVALID_PARAMS
        async with host(running, "2026-07-28") as plain:
            with pytest.raises(MCPError) as refused:
                await state_of(plain, task)
            assert refused.value.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
        async with host(running, "legacy", extensions=[advertise(TASKS)]) as old:
            with pytest.raises(MCPError) as refused:
                await state_of(old, task)
            assert refused.value.code == types.METHOD_NOT_FOUND


@pytest.mark.parametrize("is_ambiguous", [False, True])
async def test_a_task_of_2025_is_waited_for(
    log: Connection, server: EmbeddedServer, tmp_path: Path, is_ambiguous: bool
) -> None:
    """The reference server's, which runs as a task only."""
    command = str(await asyncio.to_thread(installed) / "mcp-server-everything")
    spec = ServerSpec(name="everything", transport="stdio", command=command, limits=QUICK)
    given = {"topic": "python", "ambiguous": is_ambiguous}
    messages: list[str] = []

    async def report(done: float, total: float | None, message: str | None) -> None:
        messages.append(message or "")

    async def choose(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"interpretation": "snake"})

    async with (
        gateway(server.url, tmp_path, spec) as running,
        host(running, elicitation_callback=choose) as client,
    ):
        arguments = {"tool": "everything:simulate-research-query", "arguments": given}
        result = await client.call_tool("call_tool", arguments, progress_callback=report)
    assert "# Research Report: python" in text_of(result)
    assert ("(snake)" in text_of(result)) is is_ambiguous
    assert messages
