"""`weft gateway login`: one connection to a server, for a person to sign in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from mcp import Client, MCPError
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, OAuthTokenError

from weft.gateway.configuration.config import ServerSpec
from weft.gateway.oauth.authorization_code import SignInProvider
from weft.gateway.oauth.redirect import Redirect
from weft.gateway.transports.http import http_server
from weft_schemas.errors import ConfigurationError, Unavailable


async def sign_in(spec: ServerSpec, path: Path, show: Callable[[str], Awaitable[None]]) -> bool:
    """Let a person sign in to a server. `show` is called with the address to open; the result is
    stored at `path`. Returns whether the server asked for a sign-in. Raises `Unavailable` with the
    reason if it failed."""
    port = spec.sign_in.port if spec.sign_in is not None else 0
    try:
        async with Redirect(show, port) as redirect:
            provider = SignInProvider(spec, path, redirect)
            async with Client(http_server(spec, provider)) as client:
                capabilities = client.server_capabilities
                if capabilities is not None and capabilities.tools is not None:
                    await client.list_tools()
    except OSError as error:
        raise ConfigurationError(f"port {port}: {error.strerror}; give another, or 0") from None
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        raise Unavailable(f"nobody was signed in to {spec.name!r}: {_reason(error)}") from None
    return provider.is_new


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    reason = str(error) or type(error).__name__
    if isinstance(error, OAuthRegistrationError):
        return (
            f"{reason}. Where its authorization server registers no clients by itself, register "
            'one there, and give it in the file: "weft": {"sign_in": {"…": {"client_id": "…"}}}'
        )
    is_known = isinstance(error, MCPError | OAuthFlowError | OAuthTokenError)
    return reason if is_known else f"{type(error).__name__}: {reason}"
