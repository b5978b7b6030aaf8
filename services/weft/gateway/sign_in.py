"""Servers at an address that a person signs in to in a browser: OAuth's authorization code with
PKCE, done by the SDK. What came of it is kept in a file that only its owner may read, and tokens
are renewed from there without the person."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel

from weft.gateway.config import ServerSpec
from weft.gateway.redirect import Redirect
from weft.gateway.state import replace_file

Model = TypeVar("Model", bound=BaseModel)
_EARLY_SECONDS = 5.0
"""Before a token runs out it is renewed, so that it holds for the request that it is sent with."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What the file holds: as the protocol writes it, with the time at which the token runs out."""

    tokens: dict[str, Any]
    client: dict[str, Any]
    expires_at: float | None = None
    """Seconds since 1970."""
    authorization_server: dict[str, Any] | None = None
    resource: dict[str, Any] | None = None


class SignIn(OAuthClientProvider):
    """Signs requests to one server. With a `redirect` a person is sent to the browser where that is
    needed; without, what needs a person is refused with a word on what to do."""

    def __init__(self, spec: ServerSpec, path: Path, redirect: Redirect | None = None) -> None:
        self._spec = spec
        self._path = path
        self._redirect = redirect
        self._stamp: int | None = None
        self._renewed_with = ""
        """The refresh token that was used last, until it has given something."""
        self.is_new = False
        """Whether somebody signed in here."""
        uri = AnyUrl(redirect.uri if redirect else "http://127.0.0.1/callback")
        super().__init__(
            spec.url,
            OAuthClientMetadata(redirect_uris=[uri], client_name="weft gateway"),
            self,
            redirect.send_to if redirect else None,
            redirect.result if redirect else None,
        )

    # Another gateway, or `weft gateway login`, may write the file at any time: it is read again.

    @property
    def _initialized(self) -> bool:
        return self._stamp is not None and self._stamp == _stamp(self._path)

    @_initialized.setter
    def _initialized(self, is_read: bool) -> None:
        self._stamp = _stamp(self._path) if is_read else None

    async def _initialize(self) -> None:
        kept = read_kept(self._path) if self._redirect is None else None
        context = self.context
        if kept is not None:
            context.current_tokens = OAuthToken.model_validate(kept.tokens)
            context.client_info = OAuthClientInformationFull.model_validate(kept.client)
            context.token_expiry_time = kept.expires_at
            context.oauth_metadata = _model(OAuthMetadata, kept.authorization_server)
            context.protected_resource_metadata = _model(ProtectedResourceMetadata, kept.resource)
        elif self._spec.sign_in is not None and not context.client_info:
            given = self._spec.sign_in
            context.client_info = OAuthClientInformationFull(
                client_id=given.client_id,
                client_secret=given.client_secret or None,
                token_endpoint_auth_method="client_secret_basic" if given.client_secret else "none",
            )
        self._initialized = True

    async def _perform_authorization(self) -> httpx2.Request:
        """The server did not take the token: with a new one, or with the person."""
        if self._redirect is not None:
            return await super()._perform_authorization()
        await self._initialize()
        tokens = self.context.current_tokens
        if tokens is None or tokens.refresh_token in (None, self._renewed_with):
            raise OAuthFlowError(f"nobody is signed in to it; {login_hint(self._spec.name)}")
        return await self._refresh_token()

    async def _refresh_token(self) -> httpx2.Request:
        tokens = self.context.current_tokens
        self._renewed_with = (tokens.refresh_token if tokens else None) or ""
        return await super()._refresh_token()

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        if self._redirect is None and response.status_code not in (200, 201):
            raise OAuthFlowError(
                f"its authorization server renews the token no more (HTTP {response.status_code});"
                f" {login_hint(self._spec.name)}"
            )
        prior = self.context.current_tokens
        await super()._handle_token_response(response)
        tokens = self.context.current_tokens
        if tokens and prior and not tokens.refresh_token and self._redirect is None:
            tokens.refresh_token = prior.refresh_token  # RFC 6749, section 6: the old one goes on
            await self.set_tokens(tokens)

    # What the SDK keeps

    async def get_tokens(self) -> OAuthToken | None:
        return self.context.current_tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.context.client_info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """It is kept with the tokens that it gets."""

    async def set_tokens(self, tokens: OAuthToken) -> None:
        context = self.context
        self._renewed_with = ""
        self.is_new = True
        client = context.client_info
        if client is not None and client.issuer is None and context.oauth_metadata is not None:
            client.issuer = str(context.oauth_metadata.issuer)
        expires = None if tokens.expires_in is None else time.time() + tokens.expires_in
        kept = Kept(
            tokens=_dumped(tokens) or {},
            client=_dumped(client) or {},
            expires_at=None if expires is None else expires - _EARLY_SECONDS,
            authorization_server=_dumped(context.oauth_metadata),
            resource=_dumped(context.protected_resource_metadata),
        )
        replace_file(self._path, msgspec.json.encode(kept))


def login_hint(name: str) -> str:
    return f"sign in with: weft gateway login {name} --config FILE"


def read_kept(path: Path) -> Kept | None:
    """None where nobody signed in, or the file cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Kept)
    except (OSError, msgspec.MsgspecError):
        return None


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _model(kind: type[Model], held: dict[str, Any] | None) -> Model | None:
    return None if held is None else kind.model_validate(held)


def _dumped(model: BaseModel | None) -> dict[str, Any] | None:
    return None if model is None else model.model_dump(mode="json", exclude_none=True)
