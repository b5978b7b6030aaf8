"""Calls that wait for their host's answer to a server's question. A host of the current protocol
gets the question as its call's result and repeats the call with the answer; meanwhile the call
waits here."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp import MCPError

from weft.gateway.hosts.host import HostCall

WAITING_SECONDS = 600.0
"""How long a call waits for its host to answer a question."""


class PendingCalls:
    """Calls of hosts of the current protocol that wait for the host's answer to a question."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[HostCall, asyncio.Task[Any]]] = {}

    async def run(
        self,
        call: HostCall,
        work: Callable[[], Awaitable[Any]],
        responses: types.InputResponses | None,
        state: str | None,
    ) -> Any:
        """The result of `work`, or the question that it waits for. With `state`, it continues an
        earlier request of the same host."""
        if not call.host.is_modern:
            return await work()
        if state is not None:
            pending = self._calls.get(state)
            if pending is None or pending[0].host.session != call.host.session:
                raise MCPError(
                    types.INVALID_PARAMS, "requestState is unknown here, or was waited for too long"
                )
            call, task = self._calls.pop(state)
            for key, response in (responses or {}).items():
                answer = call.answers.pop(key, None)
                if answer is not None and not answer.done():
                    answer.set_result(response)
        else:
            task = asyncio.ensure_future(work())
        next_question = asyncio.ensure_future(call.questions.get())
        try:
            await asyncio.wait([task, next_question], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            next_question.cancel()
            raise
        if task.done():
            next_question.cancel()
            return task.result()
        key, question = next_question.result()
        token = secrets.token_urlsafe(16)
        self._calls[token] = (call, task)
        asyncio.get_running_loop().call_later(WAITING_SECONDS, self._give_up, token)
        return types.InputRequiredResult(input_requests={key: question}, request_state=token)

    def _give_up(self, token: str) -> None:
        pending = self._calls.pop(token, None)
        if pending is not None:
            pending[1].cancel()

    async def close(self) -> None:
        tasks = [task for _, task in self._calls.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
