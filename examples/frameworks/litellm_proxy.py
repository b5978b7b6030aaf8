"""A program behind a LiteLLM proxy whose context weft compiles.

    weft up &
    python examples/frameworks/litellm_proxy.py

The proxy is left out: `Proxy` calls the hooks around `litellm.acompletion` as the proxy does, for a
provider that follows a script.
"""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from typing import Any

import litellm
import scenario
from litellm.types.llms.openai import AllMessageValues
from litellm.types.utils import ModelResponse
from pydantic import TypeAdapter

from weft.integrations.litellm import WeftLogger

SESSION = os.environ.get("SESSION", "litellm")
MESSAGES = TypeAdapter(list[AllMessageValues])


class Scripted(litellm.CustomLLM):
    """A provider that says what the script says."""

    def __init__(self) -> None:
        super().__init__()
        self.step = 0

    async def acompletion(self, *_: Any, messages: list[Any], **__: Any) -> ModelResponse:
        valid(messages)
        scenario.check(
            self.step, "\n".join(str(one.get("content")) for one in messages), drills=False
        )
        assert messages[0] == {"role": "system", "content": scenario.SYSTEM}
        said, calls = scenario.STEPS[self.step]
        self.step += 1
        made = [
            {
                "id": one.id,
                "type": "function",
                "function": {"name": one.name, "arguments": json.dumps(one.arguments)},
            }
            for one in calls
        ]
        message = {"role": "assistant", "content": said or None, "tool_calls": made or None}
        return ModelResponse(choices=[{"message": message}])


def valid(messages: list[Any]) -> None:
    """They are LiteLLM's own, and every result stands behind its call."""
    MESSAGES.validate_python(messages)
    open_calls: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
        else:
            assert not open_calls, "a call without a result"
        open_calls |= {call["id"] for call in message.get("tool_calls") or ()}
    assert not open_calls


class Proxy:
    """The part of the proxy that calls the hooks."""

    def __init__(self, hooks: WeftLogger) -> None:
        self.hooks = hooks

    async def chat(self, messages: list[Any], session: str) -> Any:
        data = {
            "model": "scripted/shop",
            "messages": messages,
            "metadata": {"session_id": session},
            "litellm_call_id": str(uuid.uuid4()),
        }
        data = await self.hooks.async_pre_call_hook(None, None, data, "acompletion")
        response = await litellm.acompletion(**data)
        return await self.hooks.async_post_call_success_hook(data, None, response)


async def program(proxy: Proxy, session: str) -> str:
    """Knows nothing of weft: it keeps its history, and runs what the model calls."""
    functions = {tool.__name__: tool for tool in scenario.TOOLS}
    chat: list[Any] = [
        {"role": "system", "content": scenario.SYSTEM},
        {"role": "user", "content": scenario.QUESTION},
    ]
    while True:
        response = await proxy.chat(list(chat), session)
        message = response.choices[0].message
        chat.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return str(message.content)
        for call in message.tool_calls:
            try:
                result = functions[call.function.name](**json.loads(call.function.arguments))
            except ConnectionError as error:
                result = f"failed: {error}"
            chat.append({"role": "tool", "tool_call_id": call.id, "content": result})


async def main(hooks: WeftLogger) -> None:
    litellm.custom_provider_map = [{"provider": "scripted", "custom_handler": Scripted()}]
    answer = await program(Proxy(hooks), SESSION)
    assert answer == scenario.ANSWER
    print(answer)


if __name__ == "__main__":
    asyncio.run(main(WeftLogger(budget=scenario.BUDGET)))
