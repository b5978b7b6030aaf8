"""LiteLLM: a callback of its proxy, so that weft compiles for any program behind it.

    # weft_hooks.py, beside the proxy's config.yaml
    from weft.integrations.litellm import WeftLogger
    weft_logger = WeftLogger(budget=32_000)

    # config.yaml
    litellm_settings:
      callbacks: weft_hooks.weft_logger

A request belongs to a session by its `metadata.session_id`, its `litellm_session_id` or the header
`x-litellm-session-id`; one without passes as it is.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import litellm
from litellm.integrations.custom_logger import CustomLogger

import weft
from weft.adapters.roles import SYSTEM
from weft.integrations.conversations import Conversations
from weft.integrations.media import Media, media_in, with_media
from weft.integrations.open_sessions import MAX_OPEN

CHAT = frozenset({"completion", "acompletion"})


class WeftLogger(CustomLogger):
    """Publishes the content of a program's chat requests and of their answers, and sends the model
    the compiled messages.

    Without a `client` it connects by itself, from the environment, at the first request. The
    drill-down is not offered: its call would reach the program, which has no such tool.
    """

    def __init__(self, client: weft.Client | None = None, **options: Any) -> None:
        """`options` are those of `Conversations`."""
        super().__init__()
        self._client = client
        self._options = options
        self._conversations: Conversations | None = None
        self._opening = asyncio.Lock()
        self._asked: OrderedDict[str, list[Any]] = OrderedDict()
        """By the request's id, the history that its program sent."""

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> dict[str, Any]:
        """Publish the new part, and send the compiled messages after the program's system
        prompts."""
        name = session_of(data)
        if not name or call_type not in CHAT or not data.get("messages"):
            return data
        system = [one for one in data["messages"] if one.get("role") in SYSTEM]
        history = [one for one in data["messages"] if one.get("role") not in SYSTEM]
        self._remember(data, history)
        pack = await (await self._connected()).compiled(name, history)
        if pack is not None:
            media = media_in(history, "openai")
            compiled = [_seeing(one, media) for one in pack.request("openai")["messages"]]
            data["messages"] = [*system, *compiled]
        return data

    async def async_post_call_success_hook(
        self, data: dict[str, Any], user_api_key_dict: Any, response: Any
    ) -> Any:
        """Publish the answer."""
        name, choices = session_of(data), getattr(response, "choices", None)
        history = self._asked.pop(str(data.get("litellm_call_id", name)), None)
        if name and history is not None and choices:
            message = choices[0].message.model_dump(exclude_none=True)
            await (await self._connected()).answered(name, [message], history=history)
        return response

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncGenerator[Any, None]:
        """Pass a streamed answer on, and publish it when it is complete."""
        chunks = []
        async for chunk in response:
            chunks.append(chunk)
            yield chunk
        whole = litellm.stream_chunk_builder(chunks)
        await self.async_post_call_success_hook(request_data, user_api_key_dict, whole)

    def _remember(self, data: Mapping[str, Any], history: Sequence[Any]) -> None:
        self._asked[str(data.get("litellm_call_id", session_of(data)))] = list(history)
        while len(self._asked) > MAX_OPEN:  # for requests that failed
            self._asked.popitem(last=False)

    async def _connected(self) -> Conversations:
        async with self._opening:
            if self._conversations is None:
                if self._client is None:
                    self._client = await weft.connect(lazily=True).__aenter__()
                self._conversations = Conversations(self._client, "openai", **self._options)
        return self._conversations


def _seeing(message: dict[str, Any], media: Media) -> dict[str, Any]:
    """With the program's own media in the places of their placeholders."""
    if message["role"] not in ("user", "tool"):
        return message
    parts = with_media(message["content"], media, lambda text: {"type": "text", "text": text})
    return {**message, "content": parts}


GENERATED = "litellm_session_id_generated"
"""Key of a request's metadata: the proxy made up the session id, another one for each request
(`missing_session_id: generate`)."""


def session_of(data: Mapping[str, Any]) -> str:
    """The session that a request names; empty if it names none."""
    given = [data.get("metadata"), data.get("litellm_metadata")]
    held = [one for one in given if isinstance(one, Mapping)]
    if any(one.get(GENERATED) for one in held):
        return ""
    named = [one.get("session_id") for one in held]
    return next((str(one) for one in [*named, data.get("litellm_session_id")] if one), "")
