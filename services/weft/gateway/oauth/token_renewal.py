"""Requests to a server as the person who signed in. Gateways of a folder share the tokens: if a
server refuses one, one gateway renews it, and the others use the new one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx2
import msgspec
from mcp.client.auth import OAuthFlowError
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared._httpx_utils import request_within_origin
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from pydantic import ValidationError

from weft.gateway.configuration.config import ServerSpec
from weft.gateway.oauth.token_file import (
    StoredSignIn,
    locked,
    read_sign_in,
    renewal_time,
    write_sign_in,
)
from weft.gateway.transports.http import BoundedTransport

RENEWAL_SECONDS = 30.0
"""For an authorization server's answer, which other gateways wait for as well."""
_IS_OVER = (400, 401)
"""The error for a refresh token that is no longer valid (RFC 6749, section 5.2)."""


class SignedInAuth(httpx2.Auth):
    """Safe for any number of requests at once."""

    def __init__(self, spec: ServerSpec, path: Path) -> None:
        """`path` is the file with the tokens of whoever signed in."""
        self._spec = spec
        self._path = path
        self._turn = asyncio.Lock()
        self._renewals: set[asyncio.Task[str]] = set()
        self._over = ""
        """A refresh token that is not valid any more."""
        self.fault = ""
        """Why there is no token, and what to do."""

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Without a token, the request is sent as it is, and the server refuses it."""
        version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER)
        token = await self._token("", version)
        if token:
            request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code != 401 or not token:
            return
        token = await self._token(token, version)
        if token:
            request.headers["Authorization"] = f"Bearer {token}"
            yield request

    async def _token(self, refused: str, version: str | None) -> str:
        """A valid token other than the one that was `refused`; empty if there is none."""
        self.fault = ""
        try:
            stored = self._stored()
            if _holds(stored, refused):
                return stored.access_token
            # Not cancelled with its request: the answer holds the only token that is valid then.
            task = asyncio.create_task(self._renewed(refused, version))
            self._renewals.add(task)
            task.add_done_callback(self._renewals.discard)
            return await asyncio.shield(task)
        except OAuthFlowError as error:
            self.fault = str(error)
            return ""

    def _stored(self) -> StoredSignIn:
        stored = read_sign_in(self._path)
        if stored is None:
            raise OAuthFlowError(f"nobody is signed in to it; {_login_hint(self._spec.name)}")
        return stored

    async def _renewed(self, refused: str, version: str | None) -> str:
        async with self._turn, locked(self._path):
            stored = self._stored()
            if not _holds(stored, refused):
                stored = await self._renewal(stored, version)
                write_sign_in(self._path, stored)
            return stored.access_token

    async def _renewal(self, stored: StoredSignIn, version: str | None) -> StoredSignIn:
        name = self._spec.name
        if not stored.refresh_token or stored.refresh_token == self._over:
            raise OAuthFlowError(f"its token is no longer valid; {_login_hint(name)}")
        try:
            response = await self._asked(stored, version)
        except (httpx2.HTTPError, TimeoutError) as error:
            reason = str(error) or type(error).__name__
            raise OAuthFlowError(
                f"its authorization server did not answer ({reason}); call again later"
            ) from None
        if response.status_code in _IS_OVER:
            self._over = stored.refresh_token
            raise OAuthFlowError(
                f"its authorization server renews the token no more (HTTP {response.status_code});"
                f" {_login_hint(name)}"
            )
        try:
            tokens = OAuthToken.model_validate_json(response.content)
        except ValidationError:
            raise OAuthFlowError(
                f"its authorization server gave no token (HTTP {response.status_code}); call again "
                f"later, or {_login_hint(name)}"
            ) from None
        received = tokens.model_dump(mode="json", exclude_none=True)
        kept_on = {
            key: stored.tokens[key] for key in ("scope", "refresh_token") if key in stored.tokens
        }
        return msgspec.structs.replace(
            stored, tokens=kept_on | received, expires_at=renewal_time(tokens)
        )

    async def _asked(self, stored: StoredSignIn, version: str | None) -> httpx2.Response:
        """RFC 6749, section 6. Raises `httpx2.HTTPError` and `TimeoutError`."""
        context = _context(self._spec, stored)
        data = {
            "grant_type": "refresh_token",
            "refresh_token": stored.refresh_token,
            "client_id": str(stored.client.get("client_id", "")),
        }
        if context.should_include_resource_param(version):
            data["resource"] = context.get_resource_url()  # RFC 8707
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        data, headers = context.prepare_token_auth(data, form)
        base = context.get_authorization_base_url(self._spec.url)
        url = (stored.authorization_server or {}).get("token_endpoint") or urljoin(base, "/token")
        async with (
            asyncio.timeout(RENEWAL_SECONDS),
            httpx2.AsyncClient(transport=BoundedTransport(self._spec), timeout=None) as client,
        ):
            return await request_within_origin(client, "POST", url, data=data, headers=headers)


def _holds(stored: StoredSignIn, refused: str) -> bool:
    is_late = stored.expires_at is not None and stored.expires_at < time.time()
    return not is_late and stored.access_token != refused


def _context(spec: ServerSpec, stored: StoredSignIn) -> OAuthContext:
    no_storage: Any = None  # nothing here asks for one
    context = OAuthContext(
        spec.url, OAuthClientMetadata(redirect_uris=None), no_storage, None, None
    )
    context.client_info = OAuthClientInformationFull.model_validate(stored.client)
    if stored.resource is not None:
        metadata = ProtectedResourceMetadata.model_validate(stored.resource)
        context.protected_resource_metadata = metadata
    return context


def _login_hint(name: str) -> str:
    """What the user has to do."""
    return f"sign in with: weft gateway login {name} --config FILE"
