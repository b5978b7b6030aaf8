"""What a server said about itself when it last ran, so that its tools can be offered before it is
started."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from mcp import Client, MCPError
from mcp_types import (
    PaginatedResult,
    ServerCapabilities,
)
from pydantic import BaseModel

from weft.gateway.configuration.config import ServerSpec
from weft.gateway.protocol_json import dumped
from weft_schemas.errors import Unavailable
from weft_schemas.ids import digest

MAX_PAGES = 1_000
MAX_LISTED = 20_000
"""Entries of one kind; a server that lists more without end is ended."""

Model = TypeVar("Model", bound=BaseModel)


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Entries are as the protocol writes them."""

    spec: str
    """Digest of how the server is started: with another command it may be another server."""
    name: str = ""
    version: str = ""
    protocol: str = ""
    instructions: str = ""
    capabilities: dict[str, Any] = {}
    tools: tuple[dict[str, Any], ...] = ()
    resources: tuple[dict[str, Any], ...] = ()
    templates: tuple[dict[str, Any], ...] = ()
    prompts: tuple[dict[str, Any], ...] = ()


def read(kind: type[Model], entries: tuple[dict[str, Any], ...]) -> list[Model]:
    """Entries as the SDK's types."""
    return [kind.model_validate(entry, by_name=False) for entry in entries]


def spec_digest(spec: ServerSpec) -> str:
    """Of the command, its arguments and the address; secrets in the environment and headers do not
    count."""
    return digest("spec", spec.transport, spec.command, *spec.args, spec.cwd or "", spec.url)[:16]


async def learned(client: Client, spec: ServerSpec) -> Manifest:
    """Everything that a connected server lists. Raises `Unavailable` if a list has no end, and what
    the connection raises."""
    capabilities = client.server_capabilities or ServerCapabilities()
    tools = await _all(client.list_tools, "tools") if capabilities.tools else []
    resources = await _all(client.list_resources, "resources") if capabilities.resources else []
    templates: list[Any] = []
    if capabilities.resources:
        templates = await _all(client.list_resource_templates, "resource_templates", spare=True)
    prompts = await _all(client.list_prompts, "prompts") if capabilities.prompts else []
    info = client.server_info
    return Manifest(
        spec=spec_digest(spec),
        name=info.name if info else "",
        version=info.version if info else "",
        protocol=str(client.protocol_version),
        instructions=client.instructions or "",
        capabilities=dumped(capabilities),
        tools=tuple(map(dumped, tools)),
        resources=tuple(map(dumped, resources)),
        templates=tuple(map(dumped, templates)),
        prompts=tuple(map(dumped, prompts)),
    )


async def _all(
    page: Callable[..., Awaitable[PaginatedResult]], name: str, spare: bool = False
) -> list[Any]:
    entries: list[Any] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        try:
            reply = await page(cursor=cursor, cache_mode="refresh")
        except MCPError:
            if spare:  # servers with resources need not have templates
                return entries
            raise
        entries += getattr(reply, name)
        cursor = reply.next_cursor
        if cursor is None:
            return entries
        if len(entries) > MAX_LISTED:
            break
    raise Unavailable(f"it lists {name} without end; {len(entries)} were read")
