"""What the OpenAI Agents SDK's runs are in the log beyond its example: an agent that is a tool."""

from __future__ import annotations

import pytest

import weft
from tests.frameworks.environment import logged, run

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

MODEL = """
import asyncio

import scenario
from agents import Agent, RunConfig, Runner, Usage, function_tool
from agents.items import ModelResponse
from openai_agents_agent import Scripted, output

import weft
from weft.integrations.openai_agents import WeftSession


class Model(Scripted):
    def __init__(self, *answers):
        self.answers, self.sent = list(answers), []

    async def get_response(self, system_instructions, input, *args, **kwargs):
        self.sent.append(str(input))
        answer = output(len(self.sent), *self.answers.pop(0))
        return ModelResponse(output=answer, usage=Usage(), response_id=None)
"""
"""Imports, and a model that answers as it is told to: the beginning of each program."""

AS_A_TOOL = """
@function_tool
def look(shelf: int) -> str:
    "Look at a shelf."
    return f"shelf {shelf}: lamps"


async def main():
    async with weft.connect() as client:
        session = WeftSession("as-a-tool", client, budget=4_000)
        inner = Model(("", [scenario.Call("look", "look", {"shelf": 1})]), ("Lamps.", []))
        inner.answers *= 2
        expert = Agent("expert", model=inner, tools=[look]).as_tool("research", "Have one look.")
        research = scenario.Call("research", "research", {"input": "What is there?"})
        outer = Model(("", [research]), ("Some.", []), ("", [research]), ("More.", []))
        agent = Agent("shop", model=outer, tools=[expert])
        config = RunConfig(call_model_input_filter=session.compiled_input, tracing_disabled=True)
        for question in ("Look for me.", "And again?"):
            await Runner.run(agent, question, session=session, run_config=config)
    for first, second in (inner.sent[:2], inner.sent[2:]):
        assert "What is there?" in first and "me." not in first and "shelf" not in first, first
        assert "me." not in second and second.count("shelf 1: lamps") == 1, second
    assert "shelf 1: lamps" not in "".join(outer.sent), outer.sent
    assert "Some." in outer.sent[2] and "And again?" in outer.sent[2], outer.sent


asyncio.run(main())
"""


async def test_each_run_of_an_agent_as_a_tool_has_a_session_of_its_own(url, tmp_path) -> None:
    script = tmp_path / "program.py"
    script.write_text(MODEL + AS_A_TOOL)
    await run(script, tmp_path, url)
    kinds = [str(item.kind) for item in await logged(url, "as-a-tool")]
    assert kinds == ["user_turn", "tool_call", "tool_result", "agent_msg"] * 2
    async with weft.connect(url) as client:
        names = [one.session for one in (await client.sessions()).sessions]
    assert len([name for name in names if name.startswith("as-a-tool/expert-")]) == 2


ALIKE = """
import asyncio

import scenario
from agents import Agent, RunConfig, Runner, Usage, function_tool
from agents.items import ModelResponse
from openai.types.responses import ResponseReasoningItem
from openai_agents_agent import Scripted, output

import weft
from weft.integrations.openai_agents import WeftSession


class Model(Scripted):
    def __init__(self, *answers):
        self.answers, self.number = list(answers), 0

    async def get_response(self, system_instructions, input, *args, **kwargs):
        self.number += 1
        number, answer = self.number, self.answers.pop(0)
        thought = ResponseReasoningItem(id=f"rs_{number}", type="reasoning", summary=[])
        await asyncio.sleep(0.05)
        answer = [thought, *output(number, *answer)]
        return ModelResponse(output=answer, usage=Usage(), response_id=None)


@function_tool
def look(shelf: int) -> str:
    "Look at a shelf."
    return f"shelf {shelf}: lamps"


async def main():
    async with weft.connect() as client:
        session = WeftSession("alike", client, budget=4_000)
        looks = [("", [scenario.Call(f"look-{at}", "look", {"shelf": at})]) for at in range(4)]
        lamps = ("Lamps.", [])
        inner = Model(*looks[:2], lamps, lamps, *looks[2:], lamps, lamps)
        expert = Agent("expert", model=inner, tools=[look]).as_tool("research", "Have one look.")
        asked = {"input": "What is there?"}
        calls = [scenario.Call(f"r{at}", "research", asked) for at in range(4)]
        outer = Model(("", calls[:2]), ("Some.", []), ("", calls[2:]), ("More.", []))
        agent = Agent("shop", model=outer, tools=[expert])
        config = RunConfig(call_model_input_filter=session.compiled_input, tracing_disabled=True)
        for _ in range(2):
            await Runner.run(agent, "What is there?", session=session, run_config=config)


asyncio.run(main())
"""


async def test_runs_with_the_same_words_at_the_same_time_are_told_apart(url, tmp_path) -> None:
    """Two runs of a reasoning model, and the user, all ask the same."""
    script = tmp_path / "program.py"
    script.write_text(ALIKE)
    await run(script, tmp_path, url)
    calls = ["tool_call", "tool_call", "tool_result", "tool_result"]
    kinds = [str(item.kind) for item in await logged(url, "alike")]
    assert kinds == ["user_turn", *calls, "agent_msg"] * 2
    async with weft.connect(url) as client:
        names = [one.session for one in (await client.sessions()).sessions]
    looks = [await logged(url, name) for name in names if name.startswith("alike/expert-")]
    assert sorted(items[1].metadata["call_id"] for items in looks) == [
        f"look-{at}" for at in range(4)
    ]
    for asked, call, result in looks:
        assert asked.text == "What is there?"
        assert result.text == f"shelf {call.metadata['arguments']['shelf']}: lamps"


HANDED_OVER = """
@function_tool
def look(shelf: int) -> str:
    "Look at a shelf."
    return f"shelf {shelf}:\\nlamps"


async def main():
    async with weft.connect() as client:
        session = WeftSession("handed-over", client, budget=4_000)
        def looks(at):
            return ("", [scenario.Call(f"look-{at}", "look", {"shelf": at})])
        expert_model = Model(looks(2), ("Lamps on two.", []), ("As I said.", []))
        expert = Agent("expert", model=expert_model, tools=[look])
        over = scenario.Call("over", "transfer_to_expert", {})
        desk_model = Model(looks(1), ("Wait.", [over]), ("Bye.", []))
        desk = Agent("desk", model=desk_model, tools=[look], handoffs=[expert])
        config = RunConfig(
            call_model_input_filter=session.compiled_input,
            tracing_disabled=True,
            nest_handoff_history=True,
        )
        for agent, question in ((desk, "Where are\\n lamps? "), (expert, "Sure?"), (desk, "Bye")):
            await Runner.run(agent, question, session=session, run_config=config)
    for sent in expert_model.sent:
        assert sent.count("shelf 1:") == 1 and "CONVERSATION HISTORY" not in sent, sent


asyncio.run(main())
"""


async def test_a_history_that_is_nested_in_a_handoff_is_published_once(url, tmp_path) -> None:
    script = tmp_path / "program.py"
    script.write_text(MODEL + HANDED_OVER)
    out = await run(script, tmp_path, url)
    assert "since it was published" not in out
    items = await logged(url, "handed-over")
    said = ["user_turn", "tool_call", "tool_result", "agent_msg", "tool_call", "tool_result"]
    said += ["tool_call", "tool_result", "agent_msg", *["user_turn", "agent_msg"] * 2]
    assert [str(item.kind) for item in items] == said
