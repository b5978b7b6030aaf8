"""LangChain and LangGraph 1.x: a middleware for `create_agent`.

    agent = create_agent(model, tools, middleware=[WeftMiddleware(client, budget=32_000)])
    agent.invoke({"messages": […]}, {"configurable": {"thread_id": "s1"}})

The thread is the session. The state keeps the whole history; the model gets the compiled one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)
from langchain_core.tools import StructuredTool
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp

import weft
from weft.client.arguments import checked_choice
from weft.integrations.conversations import (
    Conversations,
    ToolErrors,
    failed_calls,
    session_name,
    thoughts_of,
)
from weft.integrations.drill_down import DrillDown
from weft.integrations.media import Media, media_in, with_media
from weft.integrations.nested_runs import session_around, tool
from weft.integrations.roles import with_role
from weft.part_kind import part_kind
from weft_schemas.ids import digest

THOUGHTS = frozenset({"thinking", "redacted_thinking"})
"""Types of Anthropic's blocks that precede calls."""

STEP_DIGITS = 8
_MALFORMED = "could not be executed - arguments were malformed or truncated."
"""How LangChain's own answer to such a call ends."""

Model = Callable[[ModelRequest], ModelResponse]
AsyncModel = Callable[[ModelRequest], Awaitable[ModelResponse]]


class WeftMiddleware(AgentMiddleware):
    """Publishes turns, calls and results, and gives the model the compiled messages.

    `client` comes from `weft.connect_sync` for `invoke` and `stream` (it works with `ainvoke` too),
    or from `weft.connect` for `ainvoke` and `astream`.
    """

    def __init__(
        self,
        client: weft.Client | weft.SyncClient,
        *,
        session: str | None = None,
        tool_errors: ToolErrors = "tell",
        drilldown: bool = True,
        **options: Any,
    ) -> None:
        """`session` replaces the thread's id. A tool that raises becomes a failed result that the
        model reads, or, with `tool_errors="raise"`, ends the run. `options` are those of
        `Conversations`."""
        self._conversations = Conversations(client, "anthropic", **options)
        self._session = session
        self._tells_errors = checked_choice("tool_errors", tool_errors, ToolErrors) == "tell"
        self.tools = [_drilldown(DrillDown(client))] if drilldown else []

    def wrap_model_call(self, request: ModelRequest, handler: Model) -> ModelResponse:
        pack = self._conversations.compiled_now(self._name(), history_of(request.messages))
        return handler(_replaced(request, pack))

    async def awrap_model_call(self, request: ModelRequest, handler: AsyncModel) -> ModelResponse:
        pack = await self._conversations.compiled(self._name(), history_of(request.messages))
        return await handler(_replaced(request, pack))

    # Other middlewares change answers after the model and results before it, such as a person who
    # edits a call, or one that takes out addresses. So what is published is what the state has when
    # they are done: a call when it runs, the rest with the next request or at the end.

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]
    ) -> Any:
        self._conversations.followed_now(self._name(), _of_state(request.state))
        try:
            with self._tool(request):
                return handler(request)
        except GraphBubbleUp:  # LangGraph's own control flow, such as an interrupt
            raise
        except Exception as error:
            if not self._tells_errors:
                raise
            return _failed(request, error)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        await self._conversations.followed(self._name(), _of_state(request.state))
        try:
            with self._tool(request):
                return await handler(request)
        except GraphBubbleUp:
            raise
        except Exception as error:
            if not self._tells_errors:
                raise
            return _failed(request, error)

    def after_agent(self, state: Any, runtime: Any) -> None:
        self._conversations.followed_now(self._name(), _of_state(state))

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        await self._conversations.followed(self._name(), _of_state(state))

    def _name(self) -> str:
        thread = _configured("thread_id")
        named = self._session or session_around(thread)
        return session_name(named, thread, 'run with {"configurable": {"thread_id": "…"}}')

    def _tool(self, request: ToolCallRequest) -> AbstractContextManager[None]:
        """Around a tool, which may run another agent."""
        # LangGraph's name for the step tells calls apart whose ids are alike.
        step = digest("step", _configured("checkpoint_ns"))[:STEP_DIGITS]
        call = f"{request.tool_call['id'] or request.tool_call['name']}-{step}"
        return tool(_configured("thread_id"), self._name(), call)


def _configured(key: str) -> str:
    return str((get_config().get("configurable") or {}).get(key) or "")


def _replaced(request: ModelRequest, pack: weft.Pack | None) -> ModelRequest:
    """The request with the compiled messages. Weft's part of the system prompt follows the
    request's own."""
    if pack is None:
        return request
    messages = convert_to_messages(pack.request("openai")["messages"])
    thoughts = thoughts_of(pack)
    failed = failed_calls(pack)
    media = media_in(history_of(request.messages), "anthropic")
    messages = [
        _seeing(_thinking(_with_status(message, failed), thoughts), media) for message in messages
    ]
    system_messages = [one for one in request.messages if isinstance(one, SystemMessage)]
    if messages and isinstance(messages[0], SystemMessage):
        instructions = messages.pop(0).text
        own = request.system_message
        system = SystemMessage(f"{own.text}\n\n{instructions}" if own is not None else instructions)
        request = request.override(system_message=system)
    return request.override(messages=[*system_messages, *messages])


def _with_status(message: BaseMessage, failed: Set[str]) -> BaseMessage:
    """With the status of a call that failed. The mark in its text stays for models that get no
    status."""
    if isinstance(message, ToolMessage) and message.tool_call_id in failed:
        return message.model_copy(update={"status": "error"})
    return message


def _seeing(message: BaseMessage, media: Media) -> BaseMessage:
    """With the framework's own media in the places of their placeholders."""
    if not isinstance(message, HumanMessage | ToolMessage):
        return message
    content = with_media(message.content, media, lambda text: {"type": "text", "text": text})
    return message.model_copy(update={"content": content})


def _thinking(message: BaseMessage, thoughts: Mapping[str, list[Any]]) -> BaseMessage:
    """With the model's reasoning before its calls, if that goes back."""
    if not isinstance(message, AIMessage) or not message.tool_calls:
        return message
    found = thoughts.get(message.tool_calls[0]["id"] or "")
    if not found:
        return message
    said = [{"type": "text", "text": message.text}] if message.text else []
    return message.model_copy(update={"content": [*found, *said]})


def history_of(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """LangChain's messages in Anthropic's form, the only one that marks a failed result. System
    messages belong to the framework and are left out."""
    messages = _with_refusals(messages)
    return [one for one in map(_message, messages) if one["content"] and one["role"] != "system"]


def _with_refusals(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """With LangChain's answers to calls whose arguments are no JSON. It puts them into the request
    to the model alone, and not into its state: in the log they would come and go."""
    answered = {one.tool_call_id for one in messages if isinstance(one, ToolMessage)}
    made: list[BaseMessage] = []
    for message in messages:
        made.append(message)
        for call in message.invalid_tool_calls if isinstance(message, AIMessage) else ():
            if call["id"] and call["id"] not in answered:
                name = call["name"] or "unknown"
                text = f"Tool call {name} with id {call['id']} {_MALFORMED}"
                made.append(ToolMessage(text, tool_call_id=call["id"], name=name, status="error"))
    return made


def _message(message: BaseMessage) -> dict[str, Any]:
    match message:
        case ToolMessage():
            result = {
                "type": "tool_result",
                "tool_use_id": message.tool_call_id,
                "content": message.content,
            }
            # A tool that did not raise may have returned an error all the same.
            if message.status == "error":
                result["is_error"] = True
            return {"role": "user", "content": [result]}
        case AIMessage():
            return _assistant_message(message)
        case SystemMessage():
            return {"role": "system", "content": message.content}
        case HumanMessage():
            named = {"name": message.name} if message.name else {}
            return {"role": "user", "content": message.content, **named}
        case ChatMessage():
            return with_role(message.role, message.content, message.name)
        case FunctionMessage():
            return with_role("function", message.content, message.name)
        case _:
            return with_role(message.type, message.content, message.name)


def _assistant_message(message: AIMessage) -> dict[str, Any]:
    """Its thoughts, its text and its calls, also those with arguments that are no JSON."""
    blocks = message.content if isinstance(message.content, list) else []
    said = [one for one in blocks if isinstance(one, dict) and part_kind(one) in THOUGHTS]
    said += [{"type": "text", "text": message.text}] if message.text else []
    calls = [
        {
            "type": "tool_use",
            "id": call["id"] or "",
            "name": call["name"],
            "input": call["args"],
        }
        for call in message.tool_calls
    ]
    calls += [
        {
            "type": "tool_use",
            "id": call["id"],
            "name": call["name"] or "unknown",
            "input": {"INVALID_JSON": call["args"] or ""},
        }
        for call in message.invalid_tool_calls
        if call["id"]  # nobody can answer one without
    ]
    return {"role": "assistant", "content": [*said, *calls]}


def _of_state(state: Any) -> list[dict[str, Any]]:
    """The history in an agent's state, which may be a dict or an object."""
    held = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
    return history_of(held or ())


def _failed(request: ToolCallRequest, error: Exception) -> ToolMessage:
    return ToolMessage(
        f"{type(error).__name__}: {error}",
        tool_call_id=request.tool_call["id"],
        name=request.tool_call["name"],
        status="error",
    )


def _drilldown(tool: DrillDown) -> StructuredTool:
    def run(**arguments: Any) -> str:
        return tool.now(arguments)

    async def arun(**arguments: Any) -> str:
        return await tool(arguments)

    schema: Mapping[str, Any] = tool.parameters
    return StructuredTool(
        name=tool.name, description=tool.description, args_schema=schema, func=run, coroutine=arun
    )
