"""A picture of the framework's own history reaches the model in the place that it had there."""

from __future__ import annotations

import pytest

from tests.frameworks.environment import logged, run

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

GIVEN = """
import asyncio
import base64

import weft

PNG = base64.b64encode(b"not really a picture").decode()
URL = f"data:image/png;base64,{PNG}"
SENT = []
"""

LANGCHAIN = """
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from weft.integrations.langchain import WeftMiddleware


class Model(BaseChatModel):
    _llm_type = "scripted"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, *_, **__):
        SENT.append(messages[-1].content)
        return ChatResult(generations=[ChatGeneration(message=AIMessage("A lamp."))])


with weft.connect_sync() as client:
    agent = create_agent(Model(), [], middleware=[WeftMiddleware(client, budget=2_000)])
    pictures = [{"type": "image_url", "image_url": {"url": URL}},
                {"type": "image", "base64": PNG[::-1], "mime_type": "image/png"}]
    for at, picture in enumerate(pictures):
        question = {"role": "user", "content": [{"type": "text", "text": "What is it?"}, picture]}
        config = {"configurable": {"thread_id": "media" if at == 0 else "media-standard"}}
        agent.invoke({"messages": [question]}, config)
        assert picture in SENT[-1] and "left out" not in str(SENT[-1]), SENT
"""

OPENAI_AGENTS = """
from agents import Agent, RunConfig, Runner, Usage
from agents.items import ModelResponse
from agents.models.interface import Model
from openai_agents_agent import output
from weft.integrations.openai_agents import WeftSession


class Seeing(Model):
    async def get_response(self, system_instructions, input, *_, **__):
        SENT.append(input[-1]["content"])
        return ModelResponse(output=output(1, "A lamp.", ()), usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


async def main():
    async with weft.connect() as client:
        session = WeftSession("media", client, budget=2_000)
        config = RunConfig(call_model_input_filter=session.compiled_input, tracing_disabled=True)
        text = {"type": "input_text", "text": "What is it?"}
        picture = {"type": "input_image", "image_url": URL}
        asked = [{"role": "user", "content": [text, picture]}]
        await Runner.run(Agent("shop", model=Seeing()), asked, session=session, run_config=config)
    assert picture in SENT[0] and "left out" not in str(SENT[0]), SENT


asyncio.run(main())
"""

PYDANTIC_AI = """
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
from weft.integrations.pydantic_ai import WeftCapability


def model(messages, info):
    SENT.append(messages[-1].parts[-1].content)
    return ModelResponse([TextPart("A lamp.")])


async def main():
    picture = BinaryContent(base64.b64decode(PNG), media_type="image/png")
    async with weft.connect() as client:
        agent = Agent(FunctionModel(model), capabilities=[WeftCapability(client, budget=2_000)])
        await agent.run(["What is it?", picture], conversation_id="media")
    assert picture in SENT[0] and "left out" not in str(SENT[0]), SENT


asyncio.run(main())
"""

LITELLM = """
from weft.integrations.litellm import WeftLogger


async def main():
    text = {"type": "text", "text": "What is it?"}
    picture = {"type": "image_url", "image_url": {"url": URL}}
    async with weft.connect() as client:
        data = {"messages": [{"role": "user", "content": [text, picture]}],
                "metadata": {"session_id": "media"}}
        await WeftLogger(client).async_pre_call_hook(None, None, data, "acompletion")
    (message,) = data["messages"]
    assert picture in message["content"] and "left out" not in str(message), message


asyncio.run(main())
"""

GOOGLE_ADK = """
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types
from weft.integrations.google_adk import WeftPlugin


class Model(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        SENT.append(llm_request.contents[-1].parts)
        content = types.Content(role="model", parts=[types.Part(text="A lamp.")])
        yield LlmResponse(content=content)


async def main():
    picture = types.Part.from_bytes(data=base64.b64decode(PNG), mime_type="image/png")
    message = types.Content(role="user", parts=[types.Part(text="What is it?"), picture])
    async with weft.connect() as client:
        agent = LlmAgent(name="shop", model=Model(model="scripted"))
        app = App(name="shop", root_agent=agent, plugins=[WeftPlugin(client, budget=2_000)])
        runner = Runner(app=app, session_service=InMemorySessionService(), auto_create_session=True)
        asked = {"user_id": "ann", "session_id": "media", "new_message": message}
        async for _ in runner.run_async(**asked):
            pass
    assert [part.inline_data for part in SENT[0]][-1] == picture.inline_data, SENT
    assert "left out" not in str(SENT[0]), SENT


asyncio.run(main())
"""
MANY = {
    "langchain": LANGCHAIN,
    "openai_agents": OPENAI_AGENTS,
    "pydantic_ai": PYDANTIC_AI,
    "litellm": LITELLM,
    "google_adk": GOOGLE_ADK,
}


@pytest.mark.parametrize("name", list(MANY))
async def test_a_picture_reaches_the_model_and_its_placeholder_the_log(url, tmp_path, name) -> None:
    session = f"media-of-{name}"
    script = tmp_path / "program.py"
    script.write_text((GIVEN + MANY[name]).replace('"media"', repr(session)))
    await run(script, tmp_path, url)
    said = "\n".join(item.text for item in await logged(url, session))
    assert said.startswith("What is it?\n[image left out: image/png")
