"""A PydanticAI agent whose context weft compiles.

weft up &
python examples/frameworks/pydantic_ai_agent.py
"""

from __future__ import annotations

import asyncio
import itertools
import os

import scenario
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

import weft
from weft.integrations.pydantic_ai import WeftCapability

SESSION = os.environ.get("SESSION", "pydantic-ai")


def scripted() -> FunctionModel:
    """A model that says what the script says."""
    steps = itertools.count()

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        step = next(steps)
        valid(messages)
        prompt = ModelMessagesTypeAdapter.dump_json(messages).decode()
        scenario.check(step, prompt)
        said, calls = scenario.answer(step, prompt)
        assert (info.instructions or "").startswith(scenario.SYSTEM)
        assert "weft_drilldown" in [tool.name for tool in info.function_tools]
        made = [ToolCallPart(one.name, one.arguments, one.id) for one in calls]
        return ModelResponse([*([TextPart(said)] if said else []), *made])

    return FunctionModel(answer)


def valid(messages: list[ModelMessage]) -> None:
    """They are PydanticAI's own, and every result stands behind its call."""
    dumped = ModelMessagesTypeAdapter.dump_json(messages)
    assert ModelMessagesTypeAdapter.validate_json(dumped) == messages
    assert isinstance(messages[-1], ModelRequest)
    open_calls: set[str] = set()
    for message in messages:
        results = {part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart)}
        assert results == open_calls, "a call without a result"
        open_calls = {part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)}


def agent(client: weft.Client | weft.SyncClient) -> Agent:
    return Agent(
        scripted(),
        instructions=scenario.SYSTEM,
        tools=list(scenario.TOOLS),
        capabilities=[WeftCapability(client, budget=scenario.BUDGET)],
    )


async def asynchronous() -> None:
    async with weft.connect(lazily=True) as client:
        result = await agent(client).run(scenario.QUESTION, conversation_id=f"{SESSION}-async")
    assert result.output == scenario.ANSWER
    assert len(result.all_messages_json()) > 300_000, "the run keeps the whole history"


def synchronous() -> None:
    with weft.connect_sync(lazily=True) as client:
        result = agent(client).run_sync(scenario.QUESTION, conversation_id=f"{SESSION}-sync")
    assert result.output == scenario.ANSWER


if __name__ == "__main__":
    synchronous()
    asyncio.run(asynchronous())
    print(scenario.ANSWER)
