"""Which protocol a server speaks: the current one, or an older one that begins with a handshake."""

from __future__ import annotations

from mcp import Client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS


def is_modern(client: Client) -> bool:
    """Whether a connected server speaks the current protocol, without a handshake."""
    return client.protocol_version in MODERN_PROTOCOL_VERSIONS
