"""An upstream's tool as the gateway knows it: its id, its description, its hash, and its item for
the router."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from mcp_types import Tool

from weft.gateway.protocol_json import dumped
from weft.router.formats import item_from
from weft_schemas.errors import InvalidInput
from weft_schemas.ids import digest
from weft_schemas.routing import Effect, SelectableItem

HASH_DIGITS = 8


class GatewayTool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool of one server."""

    id: str
    """`server:tool`."""
    server: str
    tool: Tool
    hash: str
    """Hash of everything that a model reads about it."""
    item: SelectableItem

    @property
    def name(self) -> str:
        """The name at its server."""
        return self.tool.name

    @property
    def effect(self) -> Effect:
        return self.item.effect


def gateway_tool(server: str, tool: Tool) -> GatewayTool:
    """Raises `InvalidInput` for a tool that the router cannot take."""
    described = dumped(tool)
    item = item_from(described, 0)
    tool_id = f"{server}:{tool.name}"
    item = msgspec.structs.replace(item, id=tool_id, namespace=server)
    return GatewayTool(id=tool_id, server=server, tool=tool, hash=tool_hash(described), item=item)


def gateway_tools(server: str, tools: Iterable[Tool]) -> dict[str, GatewayTool]:
    """Tools by id, without those that the router cannot take."""
    found = {}
    for tool in tools:
        try:
            made = gateway_tool(server, tool)
        except InvalidInput:
            continue
        found[made.id] = made
    return found


def tool_hash(described: dict[str, Any]) -> str:
    """Over name, title, description, schemas and annotations; the order of keys does not matter."""
    compared = {key: described.get(key) for key in _HASHED_FIELDS}
    text = msgspec.json.encode(compared, order="deterministic")
    return digest("tool", text)[:HASH_DIGITS]


_HASHED_FIELDS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
