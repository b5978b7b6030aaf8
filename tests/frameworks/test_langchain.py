"""What LangChain's own messages say of a call is what weft knows of it."""

from __future__ import annotations

import pytest

from tests.frameworks.environment import run

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

PROGRAM = """
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

import weft
from weft.integrations.langchain import WeftMiddleware

SENT = []


def pay(order: int) -> str:
    "Pay an order."
    if order == 2:
        raise ValueError("no such order")
    return '{"id": 1, "status": "failed"}'


class Model(BaseChatModel):
    _llm_type = "scripted"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, *_, **__):
        SENT.append(messages)
        calls = [{"id": f"call_{n}", "name": "pay", "args": {"order": n}} for n in (1, 2)]
        message = AIMessage("Done.") if len(SENT) == 2 else AIMessage("", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


with weft.connect_sync() as client:
    agent = create_agent(Model(), [pay], middleware=[WeftMiddleware(client, budget=2_000)])
    asked = {"messages": [{"role": "user", "content": "Pay both."}]}
    agent.invoke(asked, {"configurable": {"thread_id": "fails-langchain"}})
paid, refused = [one for one in SENT[1] if isinstance(one, ToolMessage)]
assert paid.status == "success", paid
assert refused.status == "error", refused
assert "no such order" in refused.text
"""


async def test_a_tool_that_raised_is_a_failed_message_to_the_model(url: str, tmp_path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    await run(script, tmp_path, url)
