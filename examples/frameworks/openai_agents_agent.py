"""An agent of the OpenAI Agents SDK whose context weft compiles.

weft up &
python examples/frameworks/openai_agents_agent.py
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from typing import Any

import scenario
from agents import Agent, RunConfig, Runner, Usage, function_tool, set_tracing_disabled
from agents.items import ModelResponse
from agents.models.interface import Model
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseInputItemParam,
    ResponseOutputMessage,
)
from openai.types.responses.response_output_text import ResponseOutputText
from pydantic import TypeAdapter

import weft
from weft.integrations.openai_agents import WeftSession

SESSION = os.environ.get("SESSION", "openai-agents")
INPUT = TypeAdapter(list[ResponseInputItemParam])


class Scripted(Model):
    """A model that says what the script says."""

    def __init__(self) -> None:
        self.step = 0

    async def get_response(
        self, system_instructions: str | None, input: Any, *_: Any, **__: Any
    ) -> ModelResponse:
        INPUT.validate_python(input)
        prompt = json.dumps(input, ensure_ascii=False)
        scenario.check(self.step, prompt)
        assert (system_instructions or "").startswith(scenario.SYSTEM)
        calls = [one["call_id"] for one in input if one.get("type") == "function_call"]
        results = [one["call_id"] for one in input if one.get("type") == "function_call_output"]
        assert sorted(calls) == sorted(results), "a call without a result"
        said, made = scenario.answer(self.step, prompt)
        self.step += 1
        return ModelResponse(output=output(self.step, said, made), usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def output(step: int, said: str, calls: tuple[scenario.Call, ...]) -> list[Any]:
    text = ResponseOutputText(text=said, type="output_text", annotations=[])
    message = ResponseOutputMessage(
        id=f"msg_{step}", content=[text], role="assistant", status="completed", type="message"
    )
    made = [
        ResponseFunctionToolCall(
            arguments=json.dumps(one.arguments),
            call_id=one.id,
            name=one.name,
            type="function_call",
        )
        for one in calls
    ]
    return [message, *made] if said else [*made]


def run_of(session: WeftSession) -> dict[str, Any]:
    agent = Agent(
        name="shop",
        instructions=scenario.SYSTEM,
        model=Scripted(),
        tools=[*map(tool, scenario.TOOLS), session.drilldown_tool()],
    )
    config = RunConfig(call_model_input_filter=session.compiled_input)
    return {
        "starting_agent": agent,
        "input": scenario.QUESTION,
        "session": session,
        "run_config": config,
    }


def tool(function: Any) -> Any:
    """A tool whose errors the model reads."""
    return function_tool(function, failure_error_function=lambda _, error: f"failed: {error}")


async def asynchronous() -> None:
    async with weft.connect(lazily=True) as client:
        session = WeftSession(f"{SESSION}-async", client, budget=scenario.BUDGET)
        result = await Runner.run(**run_of(session))
        assert result.final_output == scenario.ANSWER
        assert any(len(str(item)) > 300_000 for item in await session.get_items())


def synchronous() -> None:
    with weft.connect_sync(lazily=True) as client:
        session = WeftSession(f"{SESSION}-sync", client, budget=scenario.BUDGET)
        assert Runner.run_sync(**run_of(session)).final_output == scenario.ANSWER


if __name__ == "__main__":
    set_tracing_disabled(True)
    synchronous()
    asyncio.run(asynchronous())
    print(scenario.ANSWER)
