"""What PydanticAI's own messages say reaches the model through weft, in PydanticAI's order."""

from __future__ import annotations

import pytest

from tests.frameworks.environment import run

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

PROGRAM = """
import asyncio

from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.messages import (
    FilePart,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import FunctionModel

import weft
from weft.integrations.pydantic_ai import WeftCapability

IMAGE = BinaryContent(data=b"\\x89PNG not really", media_type="image/png")
SENT = []


class Total(BaseModel):
    total: float


def model(*answers):
    def answer(messages, info):
        SENT.append((messages, info))
        return ModelResponse(parts=answers[len(SENT) - 1])

    SENT.clear()
    return FunctionModel(answer)


def shot():
    return ["Screenshot taken.", IMAGE]


def only():
    return IMAGE


def big():
    return "line of words and numbers 12345\\n" * 3_000


def capability(client):
    return WeftCapability(client, budget=1_000)


async def images(client):
    calls = [ToolCallPart("shot", {}), ToolCallPart("only", {})]
    asked = model(calls, [TextPart("Done.")])
    agent = Agent(asked, tools=[shot, only], capabilities=[capability(client)])
    await agent.run("Look.", conversation_id="pydantic-images")
    both, alone = SENT[1][0][-1].parts
    assert "Screenshot taken.\\n[image left out: image/png" in both.content, both
    assert "[image left out: image/png" in alone.content, alone


async def validation(client):
    said = []
    for capabilities in ([], [capability(client)]):
        asked = model([TextPart("plain")], [ToolCallPart("final_result", {"total": 1})])
        agent = Agent(asked, output_type=Total, capabilities=capabilities)
        await agent.run("How much?", conversation_id="pydantic-validation")
        said.append([part.content for part in SENT[1][0][-1].parts])
    assert said[0] == said[1], said
    events = [record.event() async for record in client.events("pydantic-validation")]
    kinds = [event.kind for event in events if isinstance(event, weft.ContextItem)]
    assert kinds == ["user_turn", "agent_msg", "doc_snippet", "tool_call"], kinds


async def order(client):
    asked = model([ToolCallPart("big", {})], [TextPart("Done.")])
    agent = Agent(
        asked,
        instructions="INSTRUCTIONS",
        system_prompt="SYSTEM",
        tools=[big],
        capabilities=[capability(client)],
    )
    result = await agent.run("How many?", conversation_id="pydantic-order")
    messages, info = SENT[1]
    assert [part.content for part in messages[0].parts] == ["SYSTEM", "How many?"], messages
    assert info.instructions.startswith("INSTRUCTIONS\\n\\nnotation:"), info.instructions
    kept = {getattr(one, "instructions", None) for one in result.all_messages()}
    assert kept <= {"INSTRUCTIONS", None}, kept


async def native(client):
    found = [{"title": "Lamp day", "url": "https://lamps.example", "encrypted_content": "Eo8"}]
    searched = [
        NativeToolCallPart("web_search", {"query": "lamps"}, "srv_1", provider_name="anthropic"),
        NativeToolReturnPart("web_search", found, "srv_1", provider_name="anthropic"),
        FilePart(IMAGE),
        TextPart("On Friday."),
    ]
    refused = NativeToolReturnPart("run", "out of memory", "srv_2", outcome="failed")
    ran = [NativeToolCallPart("run", '{"code": "1+1"}', "srv_2"), refused, TextPart("No.")]
    agent = Agent(model(searched, ran, [TextPart("Yes.")]), capabilities=[capability(client)])
    history = []
    for question in ("When?", "And where?", "Sure?"):
        told = {"message_history": history, "conversation_id": "pydantic-native"}
        history = (await agent.run(question, **told)).all_messages()
    asked = SENT[2][0]
    parts = [part for one in asked for part in one.parts]
    calls = [part.args for part in parts if isinstance(part, ToolCallPart)]
    assert calls == [{"query": "lamps"}, {"code": "1+1"}], parts
    results = [part.content for part in parts if isinstance(part, ToolReturnPart)]
    assert "https://lamps.example" in results[0] and "Eo8" not in results[0], results
    assert "out of memory" in results[1], results
    assert "[image left out: image/png" in str(parts), parts


async def main():
    async with weft.connect() as client:
        await TASK(client)


asyncio.run(main())
"""


@pytest.mark.parametrize("task", ["images", "validation", "order", "native"])
async def test_the_model_reads_what_the_framework_says(url: str, tmp_path, task: str) -> None:
    """Media of a tool as placeholders, the words about an output that is invalid, weft's part of
    the system prompt after the framework's, and what tools of the provider found."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.replace("TASK", task))
    await run(script, tmp_path, url)
