"""An authorization server's people and clients, for the SDK's own authorization server: whoever is
sent to it by a browser signs in, or refuses."""

import asyncio
import secrets
import time
from typing import Any

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyUrl


def registered(client_id: str, secret: str, redirect: str) -> OAuthClientInformationFull:
    """A client that was registered by hand."""
    return OAuthClientInformationFull(
        client_id=client_id,
        client_secret=secret,
        redirect_uris=[AnyUrl(redirect)],
        token_endpoint_auth_method="client_secret_basic",
    )


class People(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Refresh tokens are good once: whoever shows one again is taken for a thief, and nothing that
    was given is good any more (RFC 9700, section 4.14.2)."""

    def __init__(self, refuse: bool, lasting: int, thinking: float = 0.0) -> None:
        """`lasting` is how many seconds a token is good for, `thinking` how long it takes to give
        another one for it."""
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.tokens: dict[str, AccessToken] = {}
        self.refresh_tokens: dict[str, RefreshToken] = {}
        self.renewals = 0
        self._spent: set[str] = set()
        self._codes: dict[str, AuthorizationCode] = {}
        self._refuse = refuse
        self._lasting = lasting
        self._thinking = thinking

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        back = str(params.redirect_uri)
        if self._refuse:
            return construct_redirect_uri(back, error="access_denied", state=params.state)
        code = AuthorizationCode(
            code=secrets.token_hex(20),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self._codes[code.code] = code
        return construct_redirect_uri(back, code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self._codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self._codes[authorization_code.code]
        return self._token(client, authorization_code)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        if refresh_token in self._spent:
            self.tokens.clear()
            self.refresh_tokens.clear()
        return self.refresh_tokens.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.refresh_tokens[refresh_token.token]
        self._spent.add(refresh_token.token)
        self.renewals += 1
        token = self._token(client, refresh_token)
        await asyncio.sleep(self._thinking)
        return token

    def _token(self, client: OAuthClientInformationFull, given: Any) -> OAuthToken:
        end = int(time.time()) + self._lasting
        held = {"client_id": client.client_id, "scopes": given.scopes, "resource": given.resource}
        access, refresh = secrets.token_hex(20), secrets.token_hex(20)
        self.tokens[access] = AccessToken(token=access, expires_at=end, **held)
        self.refresh_tokens[refresh] = RefreshToken(token=refresh, **held)
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=self._lasting)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)
