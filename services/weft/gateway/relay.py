"""Resources and prompts through the gateway: under their server's name, secrets masked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp_types import Prompt, Resource, ResourceTemplate

from weft.gateway.manifest import read
from weft.gateway.resource_names import named, named_block
from weft.gateway.results import Guard, safe, safe_value
from weft.gateway.tools import passed_names
from weft.gateway.upstream import Upstream

_LOGGED = 200_000
"""Characters of a resource or prompt that the log keeps of one reading."""


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
    """Name for hosts → server, its own name, and the prompt under the name for hosts."""
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
    result: types.ReadResourceResult, server: str, guard: Guard
) -> tuple[types.ReadResourceResult, str]:
    """For the host, and what the log keeps of it."""
    contents: list[Any] = []
    said: list[str] = []
    for one in result.contents:
        update: dict[str, Any] = {"uri": named(server, str(one.uri))}
        if isinstance(one, types.TextResourceContents):
            said.append(one.text)
            update["text"] = safe(one.text, guard)
        else:
            said.append(f"[{one.mime_type or 'bytes'}, {len(one.blob) * 3 // 4} bytes]")
        contents.append(one.model_copy(update=update))
    shown = result.model_copy(update={"contents": contents})
    return shown, "\n".join(said)[:_LOGGED]


def safe_prompt(
    result: types.GetPromptResult, server: str, guard: Guard
) -> tuple[types.GetPromptResult, str]:
    """For the host, and what the log keeps of it."""
    messages = []
    said: list[str] = []
    for one in result.messages:
        content = named_block(one.content, lambda uri: named(server, uri))
        if isinstance(content, types.TextContent):
            said.append(f"{one.role}: {content.text}")
            content = content.model_copy(update={"text": safe(content.text, guard)})
        elif isinstance(content, types.EmbeddedResource) and isinstance(
            content.resource, types.TextResourceContents
        ):
            said.append(f"{one.role}: {content.resource.text}")
            text = safe(content.resource.text, guard)
            resource = content.resource.model_copy(update={"text": text})
            content = content.model_copy(update={"resource": resource})
        messages.append(one.model_copy(update={"content": content}))
    return result.model_copy(update={"messages": messages}), "\n".join(said)[:_LOGGED]


def safe_error(error: MCPError, guard: Guard) -> MCPError:
    """What a server refuses, for the host."""
    data = None if error.error.data is None else safe_value(error.error.data, guard)
    return MCPError(error.code, safe(error.message, guard), data)
