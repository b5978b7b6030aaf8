"""What LangChain's own messages say of a call is what weft knows of it."""

from __future__ import annotations

import pytest

import weft
from tests.frameworks.environment import logged, run

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


SCRIPTED = """
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, PIIMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult

import weft
from weft.integrations.langchain import WeftMiddleware


class Model(BaseChatModel):
    _llm_type = "scripted"
    answers: list
    sent: list = []

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, *_, **__):
        self.sent.append([(one.type, one.text) for one in messages if one.type != "system"])
        return ChatResult(generations=[ChatGeneration(message=self.answers.pop(0))])


def calling(name, /, **arguments):
    return AIMessage("", tool_calls=[{"id": f"call_{name}", "name": name, "args": arguments}])


def ask(agent, thread, *messages):
    return agent.invoke({"messages": list(messages)}, {"configurable": {"thread_id": thread}})


def made(client, *answers, tools=(), before=()):
    model = Model(answers=list(answers), sent=[])
    middleware = [*before, WeftMiddleware(client, budget=4_000)]
    return model, create_agent(model, list(tools), middleware=middleware)
"""

NESTED = """
def look(shelf: int) -> str:
    "Look at a shelf."
    return f"shelf {shelf}: lamps"


with weft.connect_sync() as client:
    inner, expert = made(client, calling("look", shelf=1), AIMessage("Lamps."), tools=[look])

    def research(task: str) -> str:
        "Have an expert look."
        return expert.invoke({"messages": [HumanMessage(task)]})["messages"][-1].text

    outer, agent = made(client, calling("research", task="What is there?"), AIMessage("Some."),
                        tools=[research])
    ask(agent, "nested", HumanMessage("Look for me."))
assert [text for _, text in inner.sent[0]] == ["What is there?"], inner.sent
assert len(inner.sent[1]) == 3 and "shelf 1" in inner.sent[1][2][1], inner.sent
assert len(outer.sent[1]) == 3 and "Lamps." in outer.sent[1][2][1], outer.sent
"""

CHANGED = """
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command


def look_up(name: str) -> str:
    "Look up a customer."
    return f"{name}: ann@example.com"


def answered(model):
    return [text.partition(">")[2].partition("<")[0] or text for _, text in model.sent[-1]]


with weft.connect_sync() as client:
    hidden = PIIMiddleware("email", strategy="redact", apply_to_tool_results=True,
                           apply_to_output=True)
    model, agent = made(client, calling("look_up", name="Ann"), AIMessage("It is ann@example.com."),
                        AIMessage("No."), tools=[look_up], before=[hidden])
    first = ask(agent, "hidden", HumanMessage("Who is it?"))
    ask(agent, "hidden", *first["messages"], HumanMessage("Is that all?"))
    assert answered(model) == ["Who is it?", "", "Ann: [REDACTED_EMAIL]",
                               "It is [REDACTED_EMAIL].", "Is that all?"], model.sent

    asked = HumanInTheLoopMiddleware(interrupt_on={"look_up": True})
    model = Model(answers=[calling("look_up", name="Ann"), AIMessage("Done.")], sent=[])
    agent = create_agent(model, [look_up], checkpointer=InMemorySaver(),
                         middleware=[WeftMiddleware(client), asked])
    config = {"configurable": {"thread_id": "edited"}}
    agent.invoke({"messages": [HumanMessage("Who is it?")]}, config)
    edited = {"type": "edit", "edited_action": {"name": "look_up", "args": {"name": "Ben"}}}
    state = agent.invoke(Command(resume={"decisions": [edited]}), config)
call = state["messages"][1].tool_calls[0]
print("called", call["args"]["name"])
assert "Ben: ann@example.com" in model.sent[-1][-1][1], model.sent
"""

MALFORMED = """
def look(shelf: int) -> str:
    "Look at a shelf."
    return f"shelf {shelf}: lamps"


broken = {"id": "broken", "name": "look", "args": '{"shelf": ', "error": "no JSON"}
whole = {"id": "whole", "name": "look", "args": {"shelf": 1}}
with weft.connect_sync() as client:
    model, agent = made(client, AIMessage("", invalid_tool_calls=[broken], tool_calls=[whole]),
                        AIMessage("", invalid_tool_calls=[{**broken, "id": "last"}]),
                        AIMessage("Lamps."), AIMessage("Yes."), tools=[look])
    messages = []
    for question in ("What is there?", "Well?", "Sure?"):
        messages = ask(agent, "malformed", *messages, HumanMessage(question))["messages"]
for sent in model.sent[1:]:
    text = str(sent)
    assert text.count("could not be executed") == (1 if sent is model.sent[1] else 2), sent
    assert text.count("lamps") == 1 and "left out" not in text, sent
"""

NAMED = """
said = [HumanMessage("I pay for dinner.", name="maya"), HumanMessage("And I?", name="ben")]
with weft.connect_sync() as client:
    model, agent = made(client, AIMessage("The taxi."))
    ask(agent, "named", *said)
    try:
        WeftMiddleware(client, tool_errors="zz")
    except weft.InvalidInput as error:
        assert "tell, raise" in str(error), error
    else:
        raise AssertionError("an unknown choice was accepted")
text = model.sent[0][0][1]
assert "maya: I pay for dinner." in text and "ben: And I?" in text, text
"""


ROLES = """
from langchain_core.messages import ChatMessage, FunctionMessage

said = [ChatMessage(f"My name is {role}.", role=role) for role in ("critic", "developer", "human")]
with weft.connect_sync() as client:
    model, agent = made(client, AIMessage("Done."))
    told = [HumanMessage("Who am I?"), FunctionMessage("My name is f.", name="f"), *said]
    ask(agent, "roles", *told)
"""


async def test_only_the_users_words_are_the_users_whatever_role_others_have(url, tmp_path) -> None:
    script = tmp_path / "program.py"
    script.write_text(SCRIPTED + ROLES)
    await run(script, tmp_path, url)
    found = [(str(item.kind), item.reserved.author) for item in await logged(url, "roles")]
    assert found == [
        ("user_turn", None), ("doc_snippet", None), ("agent_msg", "critic"), ("user_turn", None),
        ("agent_msg", None),
    ]  # fmt: skip


async def test_an_agent_that_runs_inside_a_tool_has_a_session_of_its_own(url, tmp_path) -> None:
    script = tmp_path / "program.py"
    script.write_text(SCRIPTED + NESTED)
    await run(script, tmp_path, url)
    kinds = [str(item.kind) for item in await logged(url, "nested")]
    assert kinds == ["user_turn", "tool_call", "tool_result", "agent_msg"]
    async with weft.connect(url) as client:
        names = [one.session for one in (await client.sessions()).sessions]
    (inner,) = [name for name in names if name.startswith("nested/call_research-")]
    assert [item.text for item in await logged(url, inner)][-1] == "Lamps."


async def test_calls_with_malformed_arguments_are_published_once_with_their_refusals(
    url, tmp_path
) -> None:
    """LangChain answers them in the request to the model alone, not in its state."""
    script = tmp_path / "program.py"
    script.write_text(SCRIPTED + MALFORMED)
    assert "since it was published" not in await run(script, tmp_path, url)
    items = await logged(url, "malformed")
    called = ["tool_call", "tool_call", "tool_result", "tool_result", "tool_call", "tool_result"]
    said = ["user_turn", *called, "user_turn", "agent_msg", "user_turn", "agent_msg"]
    assert [str(item.kind) for item in items] == said
    assert sum('{"shelf": ' in str(item.reserved.arguments) for item in items) == 2


async def test_people_are_told_apart_by_their_names(url, tmp_path) -> None:
    script = tmp_path / "program.py"
    script.write_text(SCRIPTED + NAMED)
    await run(script, tmp_path, url)
    assert [item.reserved.author for item in await logged(url, "named")][:2] == ["maya", "ben"]


async def test_what_other_middlewares_changed_is_in_the_log_and_in_the_prompt(
    url, tmp_path
) -> None:
    script = tmp_path / "program.py"
    script.write_text(SCRIPTED + CHANGED)
    out = await run(script, tmp_path, url)
    items = await logged(url, "hidden")
    assert "ann@example.com" not in str(items)
    assert len(items) == 6
    call = (await logged(url, "edited"))[1]
    assert f"called {call.reserved.arguments['name']}" in out, "as LangChain's own history has it"
