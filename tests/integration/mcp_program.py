"""A program of weft as a host of the protocol has it, over its stdin and stdout, but forked: what a
start costs is for the most part importing the SDK."""

from __future__ import annotations

from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from tests.integration.preloaded import Program, program

END_SECONDS = 2.0
"""From the end of its stdin until it is killed, as the SDK's own transport does."""


@asynccontextmanager
async def over_stdio(
    module: str, *arguments: str, env: Mapping[str, str]
) -> AsyncIterator[tuple[Any, Any]]:
    """A transport for the SDK's client, to `python -m module arguments…`."""
    made = await program(module, *arguments, env=env, stdin=PIPE, stdout=PIPE)
    to_client, incoming = anyio.create_memory_object_stream[SessionMessage](0)
    outgoing, from_client = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        assert made.stdout is not None
        begun = b""
        async with to_client:
            while chunk := await made.stdout.read(1 << 16):
                *lines, begun = (begun + chunk).split(b"\n")
                for line in lines:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    await to_client.send(SessionMessage(message))

    async def write() -> None:
        assert made.stdin is not None
        async with from_client:
            async for one in from_client:
                text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                made.stdin.write(text.encode() + b"\n")
                await made.stdin.drain()

    async with incoming, outgoing, anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write)
        try:
            yield incoming, outgoing
        finally:
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await _ended(made)


async def _ended(made: Program) -> None:
    assert made.stdin is not None
    made.stdin.close()
    with anyio.move_on_after(END_SECONDS):
        await made.wait()
        return
    made.kill()
    await made.wait()
