"""Google ADK: a plugin, and a memory service.

    runner = Runner(…, plugins=[WeftPlugin(client, budget=32_000)],
                    memory_service=WeftMemoryService(client))

The ADK session's id is weft's session. The session service keeps the whole history; the model gets
the compiled contents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.events import Event
from google.adk.memory import BaseMemoryService
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins import BasePlugin
from google.adk.sessions import Session
from google.adk.tools import BaseTool, ToolContext
from google.genai import types

import weft
from weft.client.arguments import checked_choice
from weft.client.offline import OnUnavailable
from weft.client.refusals import ItemRefused
from weft.integrations.adk_contents import contents_of, history_of
from weft.integrations.conversations import (
    LOG,
    Conversations,
    ToolErrors,
    warn_of_own_history,
)
from weft.integrations.drill_down import DrillDown
from weft.integrations.media import media_in
from weft.integrations.open_sessions import OpenSessions
from weft.integrations.shared_session import SharedSession
from weft_schemas.errors import NotFound, Unavailable
from weft_schemas.items import ContextItem, ItemKind


class WeftPlugin(BasePlugin):
    """Publishes turns, calls and results, and gives the model the compiled contents.

    `client` comes from `weft.connect`; with one from `weft.connect_sync` the runner's synchronous
    `run` works too, whose loop is in a thread.
    """

    def __init__(
        self,
        client: weft.Client | weft.SyncClient,
        *,
        session: str | None = None,
        tool_errors: ToolErrors = "tell",
        drilldown: bool = True,
        name: str = "weft",
        **options: Any,
    ) -> None:
        """`session` replaces the ADK session's id. A tool that raises becomes a failed result that
        the model reads, or, with `tool_errors="raise"`, ends the run. `options` are those of
        `Conversations`."""
        super().__init__(name)
        self._conversations = Conversations(client, "gemini", **options)
        self._session = session
        self._tells_errors = checked_choice("tool_errors", tool_errors, ToolErrors) == "tell"
        self._drilldown = DrillDownTool(DrillDown(client)) if drilldown else None

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Publish the new part, and send the compiled contents after the agent's instructions."""
        if self._drilldown is not None:
            llm_request.append_tools([self._drilldown])
        session = callback_context.session
        history = history_of(llm_request.contents, session.events)
        pack = await self._conversations.compiled(self._name(session), history)
        if pack is not None:
            media = media_in(history, "gemini")
            llm_request.contents, instruction = contents_of(pack, llm_request.model, media)
            if instruction:
                llm_request.append_instructions([instruction])
        return None

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Publish the answer."""
        content = llm_response.content
        if content is not None and content.parts and not llm_response.partial:
            calls = [part.function_call for part in content.parts if part.function_call]
            asked = [call.id or call.name or "" for call in calls]
            name = self._name(callback_context.session)
            await self._conversations.answered(name, history_of([content]), asked)
        return None

    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        result: dict[str, Any],
    ) -> dict[str, Any] | None:
        """Publish the result."""
        response = result if isinstance(result, dict) else {"result": result}
        call_id = tool_context.function_call_id or ""
        answered = types.FunctionResponse(id=call_id, name=tool.name, response=response)
        content = types.Content(role="user", parts=[types.Part(function_response=answered)])
        name = self._name(tool_context.session)
        await self._conversations.ran(name, call_id, history_of([content])[0])
        return None

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: Exception,
    ) -> dict[str, Any] | None:
        """A tool that raises becomes a failed result."""
        return {"error": f"{type(error).__name__}: {error}"} if self._tells_errors else None

    def _name(self, session: Session) -> str:
        return self._session or session.id


class DrillDownTool(BaseTool):
    """weft's drill-down for the model."""

    def __init__(self, tool: DrillDown) -> None:
        super().__init__(name=tool.name, description=tool.description)
        self._tool = tool

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema=self._tool.parameters,
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        return await self._tool(args)


class WeftMemoryService(BaseMemoryService):
    """What a user and an agent said in any of the user's sessions, in one session of weft for each
    app and user.

    Adding an event twice stores it once. One that weft cannot store, such as one with half a
    character in its text, is left out, and the log `weft.integrations` names it. A search is a
    compile with the question as its query: the answer is its content, including the facts that
    weft knows about the user.
    """

    def __init__(
        self,
        client: weft.Client | weft.SyncClient,
        *,
        budget: int = 1_000,
        on_unavailable: OnUnavailable = "spool",
        **options: Any,
    ) -> None:
        """`budget` is the most that a search returns, in tokens; the other options are those of
        `Client.session`. While weft is away, additions are spooled or waited for, and a search
        finds nothing, with an `OwnHistoryWarning`; `raise` raises `Unavailable`."""
        self._client = client
        self._raises = on_unavailable == "raise"
        self._options = {"budget": budget, "phase": "answer", "drilldown": False, **options}
        self._options["on_unavailable"] = on_unavailable
        self._open = OpenSessions(self._opened, lambda shared: shared.is_needed)

    async def add_session_to_memory(self, session: Session) -> None:
        await self._add(session.app_name, session.user_id, session.events)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        await self._add(app_name, user_id, events)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        try:
            pack = await self._compiled(app_name, user_id, query)
        except NotFound:  # nothing was ever added
            return SearchMemoryResponse()
        except Unavailable as error:
            if self._raises:
                raise
            message = f"memory of {user_id!r}: nothing is found while weft is away: {error}"
            warn_of_own_history(message, stacklevel=2)
            return SearchMemoryResponse()
        entries = [one for one in pack.entries if one.section in ("header", "context", "latest")]
        return SearchMemoryResponse(memories=[_memory(one) for one in entries if one.text])

    async def _compiled(self, app_name: str, user_id: str, query: str) -> weft.Pack:
        while True:
            try:
                return await self._of(app_name, user_id).compile(query)
            except ItemRefused as error:  # of an event that had waited
                LOG.warning("memory of %r: %s", user_id, error)

    async def _add(self, app_name: str, user_id: str, events: Sequence[Event]) -> None:
        items = [item for event in events for item in _items(event)]
        try:
            await self._of(app_name, user_id).publish(items)
        except ItemRefused as error:  # of one event, which is no reason to end a run
            LOG.warning("memory of %r: %s", user_id, error)
        except Unavailable:
            if self._raises:
                raise

    def _of(self, app_name: str, user_id: str) -> SharedSession:
        return self._open.of(f"adk-memory:{app_name}:{user_id}")

    def _opened(self, name: str) -> SharedSession:
        return SharedSession(self._client.session(name, **self._options))


def _memory(entry: Any) -> MemoryEntry:
    role = "user" if entry.kind is ItemKind.USER_TURN else "model"
    return MemoryEntry(
        id=entry.item_id or None,
        content=types.Content(role=role, parts=[types.Part(text=entry.text)]),
        author=entry.author or role,
        timestamp=entry.occurred_at,
    )


def _items(event: Event) -> list[ContextItem]:
    """The content of an event under its own id, so that it is stored once."""
    parts = (event.content.parts or []) if event.content is not None else []
    text = "\n".join(part.text for part in parts if part.text and not part.thought)
    if not text.strip() or event.partial:
        return []
    kind = ItemKind.USER_TURN if event.author == "user" else ItemKind.AGENT_MSG
    said = {"occurred_at": datetime.fromtimestamp(event.timestamp, UTC).isoformat()}
    if event.author != "user":
        said["author"] = event.author
    return [ContextItem(event.id, kind, text, metadata=said)]
