"""Signs a person in to a server with an address, in a browser: OAuth's authorization code with
PKCE, done by the SDK. The result is stored in a file that only its owner can read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl, BaseModel

from weft.gateway.configuration.config import ServerSpec
from weft.gateway.oauth.redirect import Redirect
from weft.gateway.oauth.token_file import StoredSignIn, locked, renewal_time, write_sign_in


class SignInProvider(OAuthClientProvider):
    """Authorizes the requests of one connection, and sends a person to the browser if the server
    asks for a sign-in."""

    def __init__(self, spec: ServerSpec, path: Path, redirect: Redirect) -> None:
        self._path = path
        self._client = _registered(spec)
        self.is_new = False
        """Whether somebody signed in during this connection."""
        super().__init__(
            spec.url,
            OAuthClientMetadata(redirect_uris=[AnyUrl(redirect.uri)], client_name="weft gateway"),
            self,
            redirect.send_to,
            redirect.result,
        )

    # What the SDK stores

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """It is stored with the tokens it gets."""

    async def set_tokens(self, tokens: OAuthToken) -> None:
        context = self.context
        self.is_new = True
        client = context.client_info
        if client is not None and client.issuer is None and context.oauth_metadata is not None:
            client.issuer = str(context.oauth_metadata.issuer)
        stored = StoredSignIn(
            tokens=_dumped(tokens) or {},
            client=_dumped(client) or {},
            expires_at=renewal_time(tokens),
            authorization_server=_dumped(context.oauth_metadata),
            resource=_dumped(context.protected_resource_metadata),
        )
        async with locked(self._path):
            write_sign_in(self._path, stored)


def _registered(spec: ServerSpec) -> OAuthClientInformationFull | None:
    """The client from the configuration, if it names one."""
    client = spec.sign_in
    if client is None:
        return None
    return OAuthClientInformationFull(
        client_id=client.client_id,
        client_secret=client.client_secret or None,
        token_endpoint_auth_method="client_secret_basic" if client.client_secret else "none",
    )


def _dumped(model: BaseModel | None) -> dict[str, Any] | None:
    return None if model is None else model.model_dump(mode="json", exclude_none=True)
