"""Prefixes resources' addresses with their server's name, so that those of two servers never
collide."""

from __future__ import annotations

from typing import TypeVar
from urllib.parse import quote, unquote

from mcp_types import (
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ResourceContents,
    ResourceLink,
)

SCHEME = "weft://"
Contents = TypeVar("Contents", bound=ResourceContents)


def named(server: str, uri: str) -> str:
    """`weft://server/` before the address; an address that anybody can fetch stays as it is."""
    return uri if uri.startswith(("http://", "https://")) else f"{SCHEME}{quote(server, '')}/{uri}"


def split(uri: str) -> tuple[str, str] | None:
    """The server, and the address as the server knows it; None if it names no server."""
    if not uri.startswith(SCHEME):
        return None
    server, slash, own = uri.removeprefix(SCHEME).partition("/")
    return (unquote(server), own) if slash else None


def with_names(result: CallToolResult, server: str) -> CallToolResult:
    """A result whose links and resources can be read through the gateway."""
    content = [named_block(block, server) for block in result.content]
    return result.model_copy(update={"content": content})


def named_block(block: ContentBlock, server: str) -> ContentBlock:
    if isinstance(block, ResourceLink):
        return block.model_copy(update={"uri": named(server, str(block.uri))})
    if isinstance(block, EmbeddedResource):
        return block.model_copy(update={"resource": named_contents(block.resource, server)})
    return block


def named_contents(contents: Contents, server: str) -> Contents:
    return contents.model_copy(update={"uri": named(server, str(contents.uri))})
