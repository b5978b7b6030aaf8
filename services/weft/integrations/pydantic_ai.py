"""PydanticAI 2: a capability.

    agent = Agent(model, capabilities=[WeftCapability(client, budget=32_000)])
    await agent.run("Which order was the largest?", conversation_id="s1")

The conversation is the session. The run keeps its whole history; the model gets the compiled one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai import RunContext, Tool, ToolReturn
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import (
    ERROR_OUTCOMES,
    BinaryContent,
    FilePart,
    ImageUrl,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import FunctionToolset

import weft
from weft.client.arguments import checked_choice
from weft.integrations.conversations import Conversations, ToolErrors, session_name, thoughts_of
from weft.integrations.drill_down import DrillDown
from weft.integrations.media import Media, media_in, placeholder_of, with_media
from weft.integrations.roles import with_role
from weft_schemas.items import ItemKind

SIGNED_BY = frozenset({"anthropic", "bedrock"})
"""Providers that refuse a call without the reasoning before it."""
FEEDBACK = "validation"
"""The title of a document in which the framework says why it refused an answer."""
WEFT_PROMPT = "weft"
"""The `dynamic_ref` that tells weft's part of the system prompt from the framework's."""


class WeftCapability(AbstractCapability[Any]):
    """Publishes turns, calls and results, and gives the model the compiled messages.

    `client` comes from `weft.connect`; with one from `weft.connect_sync`, `run_sync` works too.
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
        """`session` replaces the conversation's id. A tool that raises becomes a failed result that
        the model reads, or, with `tool_errors="raise"`, ends the run. `options` are those of
        `Conversations`."""
        self._conversations = Conversations(client, "anthropic", **options)
        self._session = session
        self._tells_errors = checked_choice("tool_errors", tool_errors, ToolErrors) == "tell"
        self._toolset = _toolset(DrillDown(client)) if drilldown else None

    def get_toolset(self) -> FunctionToolset[Any] | None:
        """weft's drill-down for the model."""
        return self._toolset

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        history = request_context.messages
        pack = await self._conversations.compiled(self._name(ctx), history_of(history))
        if pack is None:
            return request_context
        return replace(request_context, messages=_replaced(history, pack))

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Instructions belong to the framework, and models place them after all system prompts: so
        weft's part of the system prompt becomes the last of them, for this request only."""
        instructions = request_context.model_request_parameters.instruction_parts
        if not instructions:
            return request_context
        own, messages = _weft_prompt_apart(request_context.messages)
        parts = [*instructions, *(InstructionPart(text, dynamic=True) for text in own)]
        parameters = replace(request_context.model_request_parameters, instruction_parts=parts)
        return replace(request_context, messages=messages, model_request_parameters=parameters)

    async def after_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,
        response: ModelResponse,
    ) -> ModelResponse:
        calls = [part.tool_call_id for part in response.parts if isinstance(part, ToolCallPart)]
        await self._conversations.answered(self._name(ctx), history_of([response]), calls)
        return response

    async def after_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        result: Any,
    ) -> Any:
        if not isinstance(result, ToolReturn):  # the framework parses it first
            part = ToolReturnPart(call.tool_name, result, call.tool_call_id)
            await self._ran(ctx, part)
        return result

    async def on_tool_execute_error(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        error: Exception,
    ) -> Any:
        if not self._tells_errors:
            raise error
        raise ToolFailed(f"{type(error).__name__}: {error}") from error

    async def _ran(self, ctx: RunContext[Any], part: ToolReturnPart) -> None:
        (message,) = history_of([ModelRequest([part])])
        await self._conversations.ran(self._name(ctx), part.tool_call_id, message)

    def _name(self, ctx: RunContext[Any]) -> str:
        return session_name(self._session, ctx.conversation_id, "run with conversation_id='…'")


def _replaced(history: Sequence[ModelMessage], pack: weft.Pack) -> list[ModelMessage]:
    """The compiled messages, under the framework's own system prompts and instructions."""
    requests = [one for one in history if isinstance(one, ModelRequest)]
    own = [part for one in requests for part in one.parts if isinstance(part, SystemPromptPart)]
    refused = [
        part for one in requests for part in one.parts if isinstance(part, RetryFeedbackPart)
    ]
    feedback = {
        entry.text: part
        for entry in pack.entries
        for part in refused
        if entry.kind is ItemKind.DOC_SNIPPET and part.model_response() in entry.text
    }
    compiled = messages_of(pack.request("openai")["messages"], thoughts_of(pack))
    media = _own_media(history)
    messages = [_seeing(_with_feedback(one, feedback), media) for one in compiled]
    if own:
        messages = _joined([ModelRequest(own), *messages])
    if isinstance(history[-1], ModelRequest) and not isinstance(messages[-1], ModelRequest):
        messages.append(_without_words(history[-1]))
    if requests and isinstance(messages[-1], ModelRequest):
        latest = requests[-1]
        messages[-1] = replace(
            messages[-1],
            instructions=latest.instructions,
            run_id=latest.run_id,
            conversation_id=latest.conversation_id,
        )
    return messages


def _with_feedback(
    message: ModelMessage, feedback: Mapping[str, RetryFeedbackPart]
) -> ModelMessage:
    """The message with the framework's own parts in the places of the documents that have their
    text: else the framework would say that a user has written it."""
    if not isinstance(message, ModelRequest):
        return message
    parts = [
        feedback.get(part.content.partition("] ")[2], part)
        if isinstance(part, UserPromptPart) and isinstance(part.content, str)
        else part
        for part in message.parts
    ]
    return replace(message, parts=parts)


def _own_media(history: Sequence[ModelMessage]) -> dict[str, Any]:
    """Media in users' prompts, by their placeholders."""
    prompts = [
        content
        for message in history
        for part in message.parts
        if isinstance(part, UserPromptPart) and not isinstance(part.content, str)
        for content in part.content
        if not isinstance(content, str)
    ]
    own = {placeholder_of(_media(content), "anthropic"): content for content in prompts}
    return {name: own[name] for name in media_in(history_of(history), "anthropic") if name in own}


def _seeing(message: ModelMessage, media: Media) -> ModelMessage:
    """With the framework's own media in the places of their placeholders."""
    if not isinstance(message, ModelRequest):
        return message
    parts = [
        replace(part, content=with_media(part.content, media, str))
        if isinstance(part, UserPromptPart)
        else part
        for part in message.parts
    ]
    return replace(message, parts=parts)


def _weft_prompt_apart(
    messages: Sequence[ModelMessage],
) -> tuple[list[str], list[ModelMessage]]:
    """Weft's part of the system prompt, and the messages without it, if that leaves any."""
    first = messages[0] if messages else None
    if not isinstance(first, ModelRequest):
        return [], list(messages)
    own = [part for part in first.parts if _is_weft_prompt(part)]
    others = [part for part in first.parts if not _is_weft_prompt(part)]
    if not others:
        return [], list(messages)
    texts = [part.content for part in own if isinstance(part, SystemPromptPart)]
    return texts, [replace(first, parts=others), *messages[1:]]


def _is_weft_prompt(part: Any) -> bool:
    return isinstance(part, SystemPromptPart) and part.dynamic_ref == WEFT_PROMPT


def _without_words(asked: ModelRequest) -> ModelRequest:
    """The framework's own request at the end, which asks the model to go on from its answer and has
    nothing that weft would publish."""
    parts = [part for part in asked.parts if not isinstance(part, SystemPromptPart)]
    return replace(asked, parts=parts)


def history_of(messages: Sequence[ModelMessage]) -> list[dict[str, Any]]:
    """PydanticAI's messages in Anthropic's form, the only one that marks a failed result. System
    prompts belong to the framework and are left out."""
    made: list[dict[str, Any]] = []
    for message in messages:
        role = "user" if isinstance(message, ModelRequest) else "assistant"
        blocks = [block for part in message.parts for block in _blocks(part)]
        if blocks:
            made.append({"role": role, "content": blocks})
        made += [
            with_role("tool", part.model_response(), FEEDBACK)
            for part in message.parts
            if isinstance(part, RetryFeedbackPart)
        ]
    return made


def _blocks(part: Any) -> list[dict[str, Any]]:
    match part:
        case UserPromptPart(content=str() as text) | TextPart(content=text):
            return [{"type": "text", "text": text}] if text else []
        case ThinkingPart(provider_name=str() as name, signature=str()) if name in SIGNED_BY:
            held = {"id": part.id, "provider_name": name, "signature": part.signature}
            return [{"type": "thinking", "thinking": part.content, **held}]
        case UserPromptPart():
            return [_media(one) for one in part.content]
        case ToolCallPart():
            called = {"id": part.tool_call_id, "name": part.tool_name}
            return [{"type": "tool_use", **called, "input": part.args_as_dict()}]
        case ToolReturnPart():
            result = {"tool_use_id": part.tool_call_id, "content": _returned(part)}
            # A tool that did not raise may have returned an error all the same.
            if part.outcome in ERROR_OUTCOMES:
                result["is_error"] = True
            return [{"type": "tool_result", **result}]
        case NativeToolCallPart():
            called = {"id": part.tool_call_id, "name": part.tool_name}
            return [{"type": "server_tool_use", **called, "input": part.args_as_dict()}]
        case NativeToolReturnPart():
            result = {"tool_use_id": part.tool_call_id, "content": _found(part)}
            if part.outcome in ERROR_OUTCOMES:
                result["is_error"] = True
            return [{"type": "native_tool_result", **result}]
        case FilePart():
            return [_media(part.content)]
        case _:  # feedback, other reasoning, instructions, and parts for the framework only
            return []


def _returned(part: ToolReturnPart | NativeToolReturnPart) -> str | list[dict[str, Any]]:
    """What a tool returned: text, or texts and media in their order."""
    if not part.files:
        text: str = part.model_response_str()
        return text
    return [_media(one) for one in part.content_items(mode="str")]


def _found(part: NativeToolReturnPart) -> Any:
    """What a tool of the provider returned, as a value: the adapter leaves out of it what only the
    provider can read."""
    if part.files or isinstance(part.content, str):
        return _returned(part)
    return json.loads(part.model_response_str() or "null")


def _media(content: Any) -> dict[str, Any]:
    match content:
        case str():
            return {"type": "text", "text": content}
        case ImageUrl():
            return {"type": "image", "source": {"type": "url", "url": content.url}}
        case BinaryContent():
            kind = "image" if content.media_type.startswith("image/") else "document"
            held = {"media_type": content.media_type, "data": content.base64}
            return {"type": kind, "source": {"type": "base64", **held}}
        case _:
            return {"type": str(getattr(content, "kind", type(content).__name__))}


def messages_of(
    chat: Sequence[Mapping[str, Any]], thoughts: Mapping[str, Sequence[Mapping[str, Any]]] = {}
) -> list[ModelMessage]:
    """OpenAI's chat messages in PydanticAI's form; `thoughts` by the id of the call after them."""
    names: dict[str, str] = {}
    made: list[ModelMessage] = []
    for one in chat:
        text = one.get("content") or ""
        match one["role"]:
            case "system":
                part = SystemPromptPart(text, dynamic_ref=WEFT_PROMPT)
                made.append(ModelRequest([part]))
            case "user":
                made.append(ModelRequest([UserPromptPart(text)]))
            case "tool":
                called = one["tool_call_id"]
                made.append(ModelRequest([ToolReturnPart(names.get(called, ""), text, called)]))
            case _:
                calls = [_call(call) for call in one.get("tool_calls") or ()]
                names |= {call.tool_call_id: call.tool_name for call in calls}
                thought = thoughts.get(calls[0].tool_call_id, ()) if calls else ()
                said = [TextPart(text)] if text else []
                made.append(ModelResponse([*map(_thinking, thought), *said, *calls]))
    return _joined(made)


def _thinking(block: Mapping[str, Any]) -> ThinkingPart:
    named = {key: block.get(key) for key in ("id", "signature", "provider_name")}
    return ThinkingPart(block["thinking"], **named)


def _call(call: Mapping[str, Any]) -> ToolCallPart:
    function = call["function"]
    return ToolCallPart(function["name"], json.loads(function["arguments"]), call["id"])


def _joined(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Joins requests into one between two responses, as the framework does."""
    made: list[ModelMessage] = []
    for one in messages:
        before = made[-1] if made else None
        if isinstance(one, ModelRequest) and isinstance(before, ModelRequest):
            made[-1] = ModelRequest([*before.parts, *one.parts])
        else:
            made.append(one)
    return made


def _toolset(tool: DrillDown) -> FunctionToolset[Any]:
    async def run(**arguments: Any) -> str:
        return await tool(arguments)

    made = Tool.from_schema(run, tool.name, tool.description, tool.parameters)
    return FunctionToolset([made])
