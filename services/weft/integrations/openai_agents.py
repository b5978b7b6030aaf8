"""The OpenAI Agents SDK: a session that publishes, and a filter that compiles.

    session = WeftSession("s1", client, budget=32_000)
    config = RunConfig(call_model_input_filter=session.compiled_input)
    await Runner.run(agent, "Which order was the largest?", session=session, run_config=config)

Weft stands around a session of the SDK, which stays the SDK's memory; the model gets the compiled
input.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from agents import FunctionTool, SQLiteSession
from agents.handoffs import get_conversation_history_wrappers
from agents.memory import Session, SessionSettings
from agents.run import CallModelData, ModelInputData

import weft
from weft.integrations.agents_as_tools import ToolRuns
from weft.integrations.conversations import Conversations
from weft.integrations.drill_down import DrillDown
from weft.integrations.media import Media, media_in, with_media
from weft.integrations.nested_histories import unfolded

_ASKED_IN: ContextVar[asyncio.Task[Any] | None] = ContextVar("weft_asked_in", default=None)
"""The task in which the run around this place has asked its model; None before it did. Tools, and
what runs in them, see it from tasks of their own."""


class WeftSession:
    """A `Session` of the SDK, whose conversation is weft's session of the same id.

    `client` comes from `weft.connect`; with one from `weft.connect_sync`, `Runner.run_sync` works
    too.
    """

    def __init__(
        self,
        session_id: str,
        client: weft.Client | weft.SyncClient,
        *,
        inner: Session | None = None,
        **options: Any,
    ) -> None:
        """`inner` keeps the SDK's own history (in memory if it is not given); `options` are those
        of `Conversations`."""
        self.session_id = session_id
        self.inner: Session = inner or SQLiteSession(session_id)
        self._conversations = Conversations(client, "openai-responses", **options)
        self._drilldown = DrillDown(client)
        self._tool_runs = ToolRuns(session_id)

    @property
    def session_settings(self) -> SessionSettings | None:
        return self.inner.session_settings

    @session_settings.setter
    def session_settings(self, settings: SessionSettings | None) -> None:
        self.inner.session_settings = settings

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The SDK's own history, with which each of its runs begins."""
        _ASKED_IN.set(None)
        items: list[Any] = await self.inner.get_items(limit)
        return items

    async def add_items(self, items: list[Any]) -> None:
        """Store them, and publish the new ones."""
        await self.inner.add_items(items)
        await self._conversations.publish(self.session_id, await self.inner.get_items())

    async def pop_item(self) -> Any:
        """Remove the latest item from the SDK's history; the log keeps what happened."""
        return await self.inner.pop_item()

    async def clear_session(self) -> None:
        """Empty the SDK's history; the log keeps what happened."""
        await self.inner.clear_session()

    async def compiled_input(self, data: CallModelData[Any]) -> ModelInputData:
        """For `RunConfig(call_model_input_filter=…)`: publish what the model would be sent, and
        send the compiled context instead, after the agent's own instructions. An agent that runs as
        a tool has a session of its own for each run."""
        model_input = data.model_data
        own = await self.inner.get_items()
        history = unfolded(model_input.input, own, get_conversation_history_wrappers())
        name = self._session_of(data.agent.name, history, is_begun=bool(own))
        pack = await self._conversations.compiled(name, history)
        if pack is None:
            return model_input
        request = pack.request("openai-responses")
        instructions = [model_input.instructions, request.get("instructions")]
        media = media_in(history, "openai-responses")
        items = [_seeing(item, media) for item in request["input"]]
        return ModelInputData(items, "\n\n".join(filter(None, instructions)) or None)

    def _session_of(self, agent: str, history: Sequence[Any], is_begun: bool) -> str:
        """The SDK gives an agent that runs as a tool the filter of the run around it, but none of
        its history. It runs each tool in a task of its own."""
        asked_in, here = _ASKED_IN.get(), asyncio.current_task()
        if asked_in in (None, here) or not is_begun:
            _ASKED_IN.set(here)
            return self.session_id
        return self._tool_runs.session_of(agent, history)

    def drilldown_tool(self) -> FunctionTool:
        """For the agent's `tools`: lets the model read the result behind a handle."""
        tool = self._drilldown

        async def run(_: Any, arguments: str) -> str:
            return await tool(json.loads(arguments or "{}"))

        return FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=tool.parameters,
            on_invoke_tool=run,
            strict_json_schema=False,
        )


def _seeing(item: dict[str, Any], media: Media) -> Any:
    """With the SDK's own media in the places of their placeholders."""
    key = "output" if item.get("type") == "function_call_output" else "content"
    if key == "content" and item.get("role") != "user":
        return item
    parts = with_media(item[key], media, lambda text: {"type": "input_text", "text": text})
    return {**item, key: parts}
