"""Servers' resources as hosts see them: with secrets masked, and under addresses with the server's
name in front, so that those of two servers never collide."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar
from urllib.parse import quote, unquote

import mcp_types as types
from mcp_types import (
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    Resource,
    ResourceContents,
    ResourceLink,
    ResourceTemplate,
)

from weft.gateway.masking import Masking, safe, safe_model, without_files
from weft.gateway.protocol_json import as_json, dumped
from weft.gateway.upstream.manifest import read
from weft.gateway.upstream.upstream import Upstream

SCHEME = "weft://"
MAX_LOGGED = 200_000
"""Characters of a resource or prompt that the log keeps per reading."""
Contents = TypeVar("Contents", bound=ResourceContents)


def listed_resources(upstreams: Iterable[Upstream]) -> list[Resource]:
    return [
        resource.model_copy(update={"uri": gateway_uri(upstream.name, str(resource.uri))})
        for upstream in upstreams
        if upstream.manifest is not None
        for resource in read(Resource, upstream.manifest.resources)
    ]


def listed_templates(upstreams: Iterable[Upstream]) -> list[ResourceTemplate]:
    return [
        template.model_copy(
            update={"uri_template": gateway_uri(upstream.name, template.uri_template)}
        )
        for upstream in upstreams
        if upstream.manifest is not None
        for template in read(ResourceTemplate, upstream.manifest.templates)
    ]


def safe_resource(
    result: types.ReadResourceResult, server: str, masking: Masking
) -> tuple[types.ReadResourceResult, str]:
    """What the host gets, and what the log keeps."""
    said: list[str] = []
    shown_contents: list[Any] = []
    for contents in result.contents:
        if isinstance(contents, types.TextResourceContents):
            said.append(contents.text)
        else:
            said.append(f"[{contents.mime_type or 'bytes'}, {len(contents.blob) * 3 // 4} bytes]")
        named = contents_with_gateway_uri(contents, server)
        shown_contents.append(_safe_contents(named, masking))
    bare = types.ReadResourceResult(contents=[])
    shown = safe_model(result.model_copy(update={"contents": []}), masking) or bare
    return shown.model_copy(update={"contents": shown_contents}), "\n".join(said)[:MAX_LOGGED]


def _safe_contents(contents: Any, masking: Masking) -> Any:
    shown = safe_model(contents, masking)
    if shown is not None:
        return shown
    uri, text = str(contents.uri), as_json(without_files(dumped(contents))[0])
    return types.TextResourceContents(uri=safe(uri, masking), text=safe(text, masking))


def gateway_uri(server: str, uri: str) -> str:
    """`weft://server/` before the address; an address that anybody can fetch stays as it is."""
    return uri if uri.startswith(("http://", "https://")) else f"{SCHEME}{quote(server, '')}/{uri}"


def server_uri(uri: str) -> tuple[str, str] | None:
    """The server, and the address as the server knows it; None if it names no server."""
    if not uri.startswith(SCHEME):
        return None
    server, slash, own = uri.removeprefix(SCHEME).partition("/")
    return (unquote(server), own) if slash else None


def with_gateway_uris(result: CallToolResult, server: str) -> CallToolResult:
    """A result whose links and resources can be read through the gateway."""
    content = [block_with_gateway_uri(block, server) for block in result.content]
    return result.model_copy(update={"content": content})


def block_with_gateway_uri(block: ContentBlock, server: str) -> ContentBlock:
    if isinstance(block, ResourceLink):
        return block.model_copy(update={"uri": gateway_uri(server, str(block.uri))})
    if isinstance(block, EmbeddedResource):
        return block.model_copy(
            update={"resource": contents_with_gateway_uri(block.resource, server)}
        )
    return block


def contents_with_gateway_uri(contents: Contents, server: str) -> Contents:
    return contents.model_copy(update={"uri": gateway_uri(server, str(contents.uri))})
