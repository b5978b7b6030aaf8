"""Anthropic's signed thinking goes through frameworks whose messages hold it in forms of their
own: the model that is asked again has it before its calls."""

from __future__ import annotations

import pytest

from tests.frameworks.environment import run

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

LANGCHAIN = """
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

import weft
from weft.integrations.langchain import WeftMiddleware

THINKING = {"type": "thinking", "thinking": "I look at both.", "signature": "c2lnbmVk"}
SENT = []


def look(shelf: int) -> str:
    "What stands on a shelf."
    return f"shelf {shelf}: lamps"


class Model(BaseChatModel):
    _llm_type = "thinking"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, *_, **__):
        SENT.append(messages)
        if len(SENT) == 2:
            message = AIMessage("Both.")
        else:
            calls = [{"id": f"toolu_{n}", "name": "look", "args": {"shelf": n}} for n in (1, 2)]
            said = {"type": "text", "text": "Let me see."}
            message = AIMessage([THINKING, said], tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


with weft.connect_sync() as client:
    agent = create_agent(Model(), [look], middleware=[WeftMiddleware(client, budget=2_000)])
    asked = {"messages": [{"role": "user", "content": "Which?"}]}
    agent.invoke(asked, {"configurable": {"thread_id": "thinks-langchain"}})
(answer,) = [one for one in SENT[1] if isinstance(one, AIMessage)]
assert answer.content == [THINKING, {"type": "text", "text": "Let me see."}], answer
assert len(answer.tool_calls) == 2
"""

PYDANTIC_AI = """
import asyncio

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

import weft
from weft.integrations.pydantic_ai import WeftCapability

THINKING = ThinkingPart("I look at both.", signature="c2lnbmVk", provider_name="anthropic")
SENT = []


def look(shelf: int) -> str:
    "What stands on a shelf."
    return f"shelf {shelf}: lamps"


def model(messages, info):
    SENT.append(messages)
    if len(SENT) == 2:
        return ModelResponse([TextPart("Both.")])
    calls = [ToolCallPart("look", {"shelf": n}, f"toolu_{n}") for n in (1, 2)]
    return ModelResponse([THINKING, TextPart("Let me see."), *calls])


async def main():
    async with weft.connect() as client:
        capability = WeftCapability(client, budget=2_000)
        agent = Agent(FunctionModel(model), tools=[look], capabilities=[capability])
        await agent.run("Which?", conversation_id="thinks-pydantic")
    (answer,) = [one for one in SENT[1] if isinstance(one, ModelResponse)]
    thinking, text, *calls = answer.parts
    assert thinking == THINKING, thinking
    assert text == TextPart("Let me see.")
    assert len(calls) == 2


asyncio.run(main())
"""


@pytest.mark.parametrize("program", [LANGCHAIN, PYDANTIC_AI], ids=["langchain", "pydantic_ai"])
async def test_thinking_stands_before_its_calls_when_the_model_is_asked_again(
    url: str, tmp_path, program: str
) -> None:
    script = tmp_path / "program.py"
    script.write_text(program)
    await run(script, tmp_path, url)
