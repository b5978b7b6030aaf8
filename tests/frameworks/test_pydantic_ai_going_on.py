"""A run of PydanticAI that goes on from the answer of the run before."""

from __future__ import annotations

import pytest

from tests.frameworks.environment import run

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

PROGRAM = """
import asyncio

from pydantic_ai import Agent
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

import weft
from weft.integrations.pydantic_ai import WeftCapability

SENT = []


def model(messages, info):
    SENT.append(messages)
    return ModelResponse([TextPart(f"Answer {len(SENT)}.")])


async def main():
    async with weft.connect() as client:
        agent = Agent(FunctionModel(model), capabilities=[WeftCapability(client, budget=2_000)])
        first = await agent.run("Which?", conversation_id="goes-on")
        again = await agent.run("", conversation_id="goes-on", message_history=first.all_messages())
    assert again.output == "Answer 2."
    assert "Answer 1." in str(SENT[1]) and isinstance(SENT[1][-1], ModelRequest), SENT[1]


asyncio.run(main())
"""


async def test_a_run_without_a_prompt_goes_on_from_the_last_answer(url: str, tmp_path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    await run(script, tmp_path, url)
