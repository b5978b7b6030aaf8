"""Addresses of resources under the name of their server, so that two servers' never meet."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote, unquote

from mcp_types import CallToolResult, ContentBlock, EmbeddedResource, ResourceLink

SCHEME = "weft://"


def named(server: str, uri: str) -> str:
    """`weft://server/` before the address; one that anybody can fetch stays as it is."""
    return uri if uri.startswith(("http://", "https://")) else f"{SCHEME}{quote(server, '')}/{uri}"


def split(uri: str) -> tuple[str, str] | None:
    """Server and address of its own; None for one that names no server."""
    if not uri.startswith(SCHEME):
        return None
    server, slash, own = uri.removeprefix(SCHEME).partition("/")
    return (unquote(server), own) if slash else None


def with_names(result: CallToolResult, server: str) -> CallToolResult:
    """A result whose links and resources can be read through the gateway."""
    content = [named_block(block, lambda uri: named(server, uri)) for block in result.content]
    return result.model_copy(update={"content": content})


def named_block(block: ContentBlock, name: Callable[[str], str]) -> ContentBlock:
    if isinstance(block, ResourceLink):
        return block.model_copy(update={"uri": name(str(block.uri))})
    if isinstance(block, EmbeddedResource):
        resource = block.resource.model_copy(update={"uri": name(str(block.resource.uri))})
        return block.model_copy(update={"resource": resource})
    return block
