"""A LangChain agent whose context weft compiles, with `invoke` and with `ainvoke`.

weft up &
python examples/frameworks/langchain_agent.py
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

import scenario
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

import weft
from weft.integrations.langchain import WeftMiddleware

SESSION = os.environ.get("SESSION", "langchain")


class Scripted(BaseChatModel):
    """A model that says what the script says."""

    step: int = 0
    tools: list[str] = []

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Scripted:
        self.tools = [tool["name"] if isinstance(tool, dict) else tool.name for tool in tools]
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        valid(messages)
        prompt = "\n".join(str(one.model_dump()) for one in messages)
        scenario.check(self.step, prompt)
        assert messages[0].text.startswith(scenario.SYSTEM)
        assert "weft_drilldown" in self.tools
        said, calls = scenario.answer(self.step, prompt)
        self.step += 1
        made = [{"id": one.id, "name": one.name, "args": one.arguments} for one in calls]
        answer = AIMessage(said, tool_calls=made)
        return ChatResult(generations=[ChatGeneration(message=answer)])


def valid(messages: list[BaseMessage]) -> None:
    """Every result stands behind its call, as providers want it."""
    open_calls: set[str] = set()
    for message in messages:
        assert isinstance(message, BaseMessage)
        if isinstance(message, ToolMessage):
            open_calls.remove(message.tool_call_id)
        else:
            assert not open_calls, "a call without a result"
        if isinstance(message, AIMessage):
            open_calls = {call["id"] or "" for call in message.tool_calls}
    assert not open_calls


def agent(client: weft.Client | weft.SyncClient, model: Scripted) -> Any:
    middleware = WeftMiddleware(client, budget=scenario.BUDGET)
    return create_agent(
        model, list(scenario.TOOLS), system_prompt=scenario.SYSTEM, middleware=[middleware]
    )


QUESTION = {"messages": [{"role": "user", "content": scenario.QUESTION}]}


def synchronous() -> None:
    config = {"configurable": {"thread_id": f"{SESSION}-sync"}}
    with weft.connect_sync(lazily=True) as client:
        state = agent(client, Scripted()).invoke(QUESTION, config)
    assert state["messages"][-1].text == scenario.ANSWER
    assert len(state["messages"][2].text) > 300_000, "the state keeps the whole history"


async def asynchronous() -> None:
    config = {"configurable": {"thread_id": f"{SESSION}-async"}}
    async with weft.connect(lazily=True) as client:
        state = await agent(client, Scripted()).ainvoke(QUESTION, config)
    assert state["messages"][-1].text == scenario.ANSWER


if __name__ == "__main__":
    synchronous()
    asyncio.run(asynchronous())
    print(scenario.ANSWER)
