"""Servers' prompts and completions as hosts see them: with secrets masked, and prompts under names
with the server's in front."""

from __future__ import annotations

from collections.abc import Iterable

import mcp_types as types
from mcp_types import Prompt

from weft.gateway.masking import Masking, safe, safe_block, safe_model
from weft.gateway.resources import MAX_LOGGED, block_with_gateway_uri
from weft.gateway.results.host_result import text_of
from weft.gateway.tools.listing import passed_names
from weft.gateway.upstream.manifest import read
from weft.gateway.upstream.upstream import Upstream


def listed_prompts(upstreams: Iterable[Upstream]) -> dict[str, tuple[Upstream, str, Prompt]]:
    """Name that hosts see → server, the server's own name for the prompt, and the prompt as hosts
    see it."""
    prompts = {
        f"{upstream.name}:{prompt.name}": (upstream, prompt)
        for upstream in upstreams
        if upstream.manifest is not None
        for prompt in read(Prompt, upstream.manifest.prompts)
    }
    listed = {}
    for name, key in passed_names(prompts).items():
        upstream, prompt = prompts[key]
        listed[name] = upstream, prompt.name, prompt.model_copy(update={"name": name})
    return listed


def safe_prompt(
    result: types.GetPromptResult, server: str, masking: Masking
) -> tuple[types.GetPromptResult, str]:
    """What the host gets, and what the log keeps."""
    said: list[str] = []
    messages: list[types.PromptMessage] = []
    for message in result.messages:
        content = block_with_gateway_uri(message.content, server)
        text = text_of(content)
        if text is not None:
            said.append(f"{message.role}: {text}")
        shown_content = safe_block(content, masking)
        messages.append(types.PromptMessage(role=message.role, content=shown_content))
    bare = types.GetPromptResult(messages=[])
    shown = safe_model(result.model_copy(update={"messages": []}), masking) or bare
    return shown.model_copy(update={"messages": messages}), "\n".join(said)[:MAX_LOGGED]


def safe_completion(result: types.CompleteResult, masking: Masking) -> types.CompleteResult:
    """What the host gets."""
    shown = safe_model(result, masking)
    if shown is not None:
        return shown
    values = [safe(value, masking) for value in result.completion.values]
    return types.CompleteResult(completion=types.Completion(values=values))
