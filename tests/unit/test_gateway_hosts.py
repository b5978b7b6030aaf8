"""Calls that wait for their host's answer: only the session whose call it is goes on with it."""

import asyncio
from typing import Any, cast

import mcp_types as types
import pytest
from mcp import MCPError

from weft.gateway.hosts.host import Context, Host, HostCall
from weft.gateway.hosts.pending_calls import PendingCalls

QUESTION = types.ElicitRequest(
    params=types.ElicitRequestFormParams(
        message="Which one?", requested_schema={"type": "object", "properties": {}}
    )
)


def call_of(session: str) -> HostCall:
    return HostCall(Host(session, "host", True), cast(Context, None))


async def test_a_call_of_another_session_is_neither_answered_nor_lost() -> None:
    pending, call = PendingCalls(), call_of("s1")

    async def work() -> Any:
        answer = call.answers["k"] = asyncio.get_running_loop().create_future()
        call.questions.put_nowait(("k", QUESTION))
        return await answer

    asked = await pending.run(call, work, None, None)
    answers = {"k": types.ElicitResult(action="decline")}
    with pytest.raises(MCPError, match="requestState is unknown here"):
        await pending.run(call_of("s2"), work, answers, asked.request_state)
    assert await pending.run(call_of("s1"), work, answers, asked.request_state) == answers["k"]


async def test_a_call_that_still_waits_is_cancelled_at_the_end() -> None:
    pending, call, ended = PendingCalls(), call_of("s1"), asyncio.Event()

    async def work() -> None:
        call.questions.put_nowait(("k", QUESTION))
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    asked = await pending.run(call, work, None, None)
    with pytest.raises(MCPError):
        await pending.run(call_of("s2"), work, None, asked.request_state)
    await pending.close()
    assert ended.is_set()
