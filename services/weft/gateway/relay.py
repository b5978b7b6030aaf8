"""Resources, prompts and completions of servers, under the server's name and with secrets
masked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import mcp_types as types
from mcp_types import Prompt, Resource, ResourceTemplate

from weft.gateway.masking import Masking, safe, safe_block, safe_model, without_files
from weft.gateway.protocol_json import as_json, dumped
from weft.gateway.resource_names import named, named_block, named_contents
from weft.gateway.results.results import text_of
from weft.gateway.tools.listing import passed_names
from weft.gateway.upstream.manifest import read
from weft.gateway.upstream.upstream import Upstream

_LOGGED = 200_000
"""Characters of a resource or prompt that the log keeps per reading."""


def resources(upstreams: Iterable[Upstream]) -> list[Resource]:
    return [
        one.model_copy(update={"uri": named(upstream.name, str(one.uri))})
        for upstream in upstreams
        if upstream.manifest is not None
        for one in read(Resource, upstream.manifest.resources)
    ]


def templates(upstreams: Iterable[Upstream]) -> list[ResourceTemplate]:
    return [
        one.model_copy(update={"uri_template": named(upstream.name, one.uri_template)})
        for upstream in upstreams
        if upstream.manifest is not None
        for one in read(ResourceTemplate, upstream.manifest.templates)
    ]


def prompts(upstreams: Iterable[Upstream]) -> dict[str, tuple[Upstream, str, Prompt]]:
    """Name that hosts see → server, the server's own name for the prompt, and the prompt as hosts
    see it."""
    found = {
        f"{upstream.name}:{one.name}": (upstream, one)
        for upstream in upstreams
        if upstream.manifest is not None
        for one in read(Prompt, upstream.manifest.prompts)
    }
    return {
        name: (found[key][0], found[key][1].name, found[key][1].model_copy(update={"name": name}))
        for name, key in passed_names(found).items()
    }


def safe_resource(
    result: types.ReadResourceResult, server: str, masking: Masking
) -> tuple[types.ReadResourceResult, str]:
    """What the host gets, and what the log keeps."""
    said: list[str] = []
    contents: list[Any] = []
    for one in result.contents:
        if isinstance(one, types.TextResourceContents):
            said.append(one.text)
        else:
            said.append(f"[{one.mime_type or 'bytes'}, {len(one.blob) * 3 // 4} bytes]")
        contents.append(_safe_contents(named_contents(one, server), masking))
    bare = types.ReadResourceResult(contents=[])
    shown = safe_model(result.model_copy(update={"contents": []}), masking) or bare
    return shown.model_copy(update={"contents": contents}), "\n".join(said)[:_LOGGED]


def _safe_contents(contents: Any, masking: Masking) -> Any:
    shown = safe_model(contents, masking)
    if shown is not None:
        return shown
    uri, text = str(contents.uri), as_json(without_files(dumped(contents))[0])
    return types.TextResourceContents(uri=safe(uri, masking), text=safe(text, masking))


def safe_prompt(
    result: types.GetPromptResult, server: str, masking: Masking
) -> tuple[types.GetPromptResult, str]:
    """What the host gets, and what the log keeps."""
    said: list[str] = []
    messages: list[types.PromptMessage] = []
    for one in result.messages:
        content = named_block(one.content, server)
        text = text_of(content)
        if text is not None:
            said.append(f"{one.role}: {text}")
        messages.append(types.PromptMessage(role=one.role, content=safe_block(content, masking)))
    bare = types.GetPromptResult(messages=[])
    shown = safe_model(result.model_copy(update={"messages": []}), masking) or bare
    return shown.model_copy(update={"messages": messages}), "\n".join(said)[:_LOGGED]


def safe_completion(result: types.CompleteResult, masking: Masking) -> types.CompleteResult:
    """What the host gets."""
    shown = safe_model(result, masking)
    if shown is not None:
        return shown
    values = [safe(value, masking) for value in result.completion.values]
    return types.CompleteResult(completion=types.Completion(values=values))
