"""A program behind LiteLLM's proxy whose context weft compiles.

    weft up &
    python examples/frameworks/litellm_proxy.py

The proxy is the real one, a process of its own: it reads `CONFIG` and, beside it, `HOOKS`. What it
asks is a server on the loopback that follows the script; the program uses OpenAI's library, and
knows nothing of weft. One session is named in the body, the other, which is streamed, in a header.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import socket
from typing import Any

import scenario
from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter
from scripted_endpoint import ScriptedEndpoint

SESSION = os.environ.get("SESSION", "litellm")
MESSAGES = TypeAdapter(list[ChatCompletionMessageParam])
PATIENCE_SECONDS = 120
KEY = f"sk-{secrets.token_hex(32)}"
"""The proxy's own; without one it does not start."""

HOOKS = f"""
from weft.integrations.litellm import WeftLogger

weft_logger = WeftLogger(budget={scenario.BUDGET})
"""
CONFIG = """
litellm_settings:
  callbacks: weft_hooks.weft_logger
"""


class ScriptedProvider(ScriptedEndpoint):
    """Speaks OpenAI's API. Each model of it begins the script by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: Counter[str] = Counter()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """A completion that says what the script says next."""
        messages, model = request["messages"], request["model"]
        valid(messages)
        step = self.steps[model]
        scenario.check(step, "\n".join(str(one.get("content")) for one in messages), drills=False)
        assert messages[0] == {"role": "system", "content": scenario.SYSTEM}, messages[0]
        assert "metadata" not in request, "the session's name is not the provider's matter"
        said, calls = scenario.STEPS[step]
        self.steps[model] += 1
        made = [
            {
                "id": one.id,
                "type": "function",
                "function": {"name": one.name, "arguments": json.dumps(one.arguments)},
            }
            for one in calls
        ]
        message: dict[str, Any] = {"role": "assistant", "content": said or None}
        if made:
            message["tool_calls"] = made
        choice = {"index": 0, "message": message}
        return {
            "id": f"c{step}",
            "object": "chat.completion",
            "created": 1,
            "model": model,
            "choices": [choice | {"finish_reason": "tool_calls" if made else "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }

    def failure(self, message: str) -> dict[str, Any]:
        return {"error": {"message": message}}

    def streamed(self, said: dict[str, Any]) -> str:
        return _streamed(said)


def _streamed(said: dict[str, Any]) -> str:
    """The same as events, its text and each call's arguments in two pieces."""
    choice = said["choices"][0]
    message = choice["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    text = message["content"] or ""
    deltas += [{"content": piece} for piece in (text[:9], text[9:]) if piece]
    for at, call in enumerate(message.get("tool_calls") or ()):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        deltas.append(
            {"tool_calls": [call | {"index": at, "function": {"name": name, "arguments": ""}}]}
        )
        for piece in (arguments[:5], arguments[5:]):
            deltas.append({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
    chunks = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    chunks.append({"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]})
    about = {key: said[key] for key in ("id", "created", "model")}
    events = [{**about, "object": "chat.completion.chunk", "choices": [one]} for one in chunks]
    return "".join(f"data: {one}\n\n" for one in [*map(json.dumps, events), "[DONE]"])


def valid(messages: list[Any]) -> None:
    """They are OpenAI's own, and every result stands behind its call."""
    MESSAGES.validate_python(messages)
    open_calls: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
        else:
            assert not open_calls, "a call without a result"
        open_calls |= {call["id"] for call in message.get("tool_calls") or ()}
    assert not open_calls


@contextmanager
def proxy(provider: ScriptedProvider, hooks: str = HOOKS, config: str = CONFIG) -> Iterator[str]:
    """LiteLLM's proxy, as its users start it; gives its address when it is ready."""
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "weft_hooks.py").write_text(hooks)
        Path(folder, "config.yaml").write_text(f"{_models(provider.url)}{config}")
        command = [
            str(Path(sys.executable).with_name("litellm")),
            *("--config", f"{folder}/config.yaml"),
            *("--host", "127.0.0.1", "--port", str(port)),
        ]
        process = subprocess.Popen(command, env={**os.environ, "LITELLM_MASTER_KEY": KEY})
        try:
            _wait(f"http://127.0.0.1:{port}/health/liveliness", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


def _models(provider: str) -> str:
    names = ("plain", "streamed")
    models = [
        f"""
  - model_name: {name}
    litellm_params:
      model: openai/{name}
      api_base: {provider}/v1
      api_key: none"""
        for name in names
    ]
    return f"model_list:{''.join(models)}\n"


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(PATIENCE_SECONDS * 5):
        assert process.poll() is None, "the proxy ended"
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise TimeoutError("the proxy did not start")


def program(address: str, session: str, is_streamed: bool) -> str:
    """Knows nothing of weft: it keeps its history, and runs what the model calls."""
    functions = {tool.__name__: tool for tool in scenario.TOOLS}
    chat: list[Any] = [
        {"role": "system", "content": scenario.SYSTEM},
        {"role": "user", "content": scenario.QUESTION},
    ]
    client = OpenAI(base_url=address, api_key=KEY, max_retries=0)
    in_body = {"metadata": {"session_id": session}}
    in_header = {"x-litellm-session-id": session}
    while True:
        if is_streamed:
            with client.chat.completions.stream(
                model="streamed", messages=chat, extra_headers=in_header
            ) as stream:
                message = stream.get_final_completion().choices[0].message
        else:
            reply = client.chat.completions.create(model="plain", messages=chat, extra_body=in_body)
            message = reply.choices[0].message
        chat.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return str(message.content)
        for call in message.tool_calls:
            try:
                result = functions[call.function.name](**json.loads(call.function.arguments))
            except ConnectionError as error:
                result = f"failed: {error}"
            chat.append({"role": "tool", "tool_call_id": call.id, "content": result})


def main(hooks: str = HOOKS, config: str = CONFIG) -> None:
    with ScriptedProvider() as provider, proxy(provider, hooks, config) as address:
        for end, is_streamed in (("-plain", False), ("-streamed", True)):
            answer = program(address, f"{SESSION}{end}", is_streamed)
            assert answer == scenario.ANSWER, answer
            print(answer)


if __name__ == "__main__":
    main()
