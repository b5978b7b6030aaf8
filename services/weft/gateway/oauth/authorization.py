"""Authorizes requests to servers that have an address: with the client's own credentials (RFC 6749,
section 4.4), whose token is kept only in memory, or as the person who signed in."""

from __future__ import annotations

from pathlib import Path

import httpx2
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from weft.gateway.configuration.config import ServerSpec
from weft.gateway.oauth.token_renewal import SignedInAuth


def authorization(spec: ServerSpec, sign_in: Path) -> httpx2.Auth | None:
    """None if the configuration has no credentials for the server and nobody is signed in,
    according to the file `sign_in`."""
    oauth = spec.oauth
    if oauth is None:
        return SignedInAuth(spec, sign_in) if sign_in.exists() else None
    return ClientCredentialsOAuthProvider(
        spec.url,
        _InMemory(),
        oauth.client_id,
        oauth.client_secret,
        "client_secret_post" if oauth.secret_in == "body" else "client_secret_basic",
        oauth.scope or None,
        oauth.issuer,
    )


class _InMemory:
    """What the SDK stores about the authorization at one server."""

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
