"""OAuth for servers at an address, with the client's own credentials (RFC 6749, section 4.4). The
token is kept in memory alone, and got anew where a server does not take it any more."""

from __future__ import annotations

import httpx2
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from weft.gateway.config import ServerSpec


def authorization(spec: ServerSpec) -> httpx2.Auth | None:
    """How requests to the server are signed; None where the file gives no credentials for it."""
    given = spec.oauth
    if given is None:
        return None
    return ClientCredentialsOAuthProvider(
        spec.url,
        _InMemory(),
        given.client_id,
        given.client_secret,
        "client_secret_post" if given.secret_in == "body" else "client_secret_basic",
        given.scope or None,
        given.issuer,
    )


class _InMemory:
    """What the SDK keeps of one server's authorization."""

    def __init__(self) -> None:
        self._tokens: OAuthToken | None = None
        self._client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info
