"""An agent of Google's ADK whose context weft compiles.

weft up &
python examples/frameworks/google_adk_agent.py
"""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncGenerator

import scenario
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

import weft
from weft.integrations.google_adk import WeftMemoryService, WeftPlugin

SESSION = os.environ.get("SESSION", "google-adk")


class Scripted(BaseLlm):
    """A model that says what the script says."""

    model: str = "scripted"
    step: int = 0

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        valid(llm_request.contents)
        prompt = "\n".join(one.model_dump_json(exclude_none=True) for one in llm_request.contents)
        scenario.check(self.step, prompt)
        assert scenario.SYSTEM in str(llm_request.config.system_instruction)
        assert "weft_drilldown" in llm_request.tools_dict
        said, calls = scenario.answer(self.step, prompt)
        self.step += 1
        made = [types.Part.from_function_call(name=one.name, args=one.arguments) for one in calls]
        parts = [*([types.Part(text=said)] if said else []), *made]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def valid(contents: list[types.Content]) -> None:
    """Every call is answered in the next content, as Gemini wants it."""
    open_calls: list[str | None] = []
    for content in contents:
        types.Content.model_validate(content.model_dump())
        parts = content.parts or []
        answered = [part.function_response.name for part in parts if part.function_response]
        assert answered == open_calls, "a call without a result"
        open_calls = [part.function_call.name for part in parts if part.function_call]


def runner(client: weft.Client | weft.SyncClient) -> Runner:
    agent = LlmAgent(
        name="shop",
        model=Scripted(),
        instruction=scenario.SYSTEM,
        tools=list(scenario.TOOLS),
    )
    plugin = WeftPlugin(client, budget=scenario.BUDGET)
    return Runner(
        app=App(name="shop", root_agent=agent, plugins=[plugin]),
        session_service=InMemorySessionService(),
        auto_create_session=True,
        memory_service=WeftMemoryService(client),
    )


USER = f"user {uuid.uuid4()}"
MESSAGE = types.Content(role="user", parts=[types.Part(text=scenario.QUESTION)])


async def asynchronous() -> None:
    async with weft.connect(lazily=True) as client:
        agent = runner(client)
        events = agent.run_async(user_id=USER, session_id=f"{SESSION}-async", new_message=MESSAGE)
        answers = [event async for event in events]
        await remembers(agent)
    assert answers[-1].content.parts[0].text == scenario.ANSWER


async def remembers(agent: Runner) -> None:
    """What was said in one session is found from any other of the same user."""
    session = await agent.session_service.get_session(
        app_name="shop", user_id=USER, session_id=f"{SESSION}-async"
    )
    for _ in range(2):  # a session may be added again
        await agent.memory_service.add_session_to_memory(session)
    found = await agent.memory_service.search_memory(
        app_name="shop", user_id=USER, query="largest order"
    )
    said = [one.content.parts[0].text for one in found.memories]
    if not os.environ.get("WITHOUT_WEFT"):
        assert [scenario.QUESTION in one for one in said].count(True) == 1
        assert any(scenario.ANSWER in one for one in said)


def synchronous() -> None:
    with weft.connect_sync(lazily=True) as client:
        events = runner(client).run(user_id=USER, session_id=f"{SESSION}-sync", new_message=MESSAGE)
        assert [*events][-1].content.parts[0].text == scenario.ANSWER


if __name__ == "__main__":
    synchronous()
    asyncio.run(asynchronous())
    print(scenario.ANSWER)
