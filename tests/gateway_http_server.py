"""A server at an address, of the SDK's own making: `-m tests.gateway_http_server PORT [how]`.
With `sse` it speaks legacy SSE, with `handshake` it does not know the current protocol, with
`oauth` it takes only callers with a token of its own authorization server, with `sign-in` only
persons that were sent there by a browser (`refuses` refuses them, `thinks` takes its time to renew
a token). Started again it knows no earlier session and no token."""

import asyncio
import base64
import os
import secrets
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import uvicorn
from mcp import MCPError
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from pydantic import AnyHttpUrl
from starlette.requests import Request
from starlette.responses import JSONResponse

from tests.integration.preloaded import program
from tests.people import People, registered

CLIENT, SECRET = "weft", "s3cret-of-the-tests"
TOKENS: set[str] = set()
WAITING: list[str] = []
OUT_OF_ORDER: list[int] = []
"""What the authorization server answers next in the place of a token."""


class Issued(TokenVerifier):
    """The tokens that the authorization server below has given and not taken back."""

    async def verify_token(self, token: str) -> AccessToken | None:
        if token not in TOKENS:
            return None
        return AccessToken(token=token, client_id=CLIENT, scopes=["tools"], resource=ADDRESS)


PORT = int(sys.argv[1]) if __name__ == "__main__" else 0
ISSUER = f"http://127.0.0.1:{PORT}"
ADDRESS = f"{ISSUER}/mcp"


def protection() -> dict[str, Any]:
    """What has the server take only callers with a token."""
    auth = AuthSettings(
        issuer_url=AnyHttpUrl(ISSUER),
        resource_server_url=AnyHttpUrl(ADDRESS),
        required_scopes=[],
        validate_token_resource=True,
    )
    return {"token_verifier": Issued(), "auth": auth}


def signing_in() -> dict[str, Any]:
    """What has the server send persons to its own authorization server, the SDK's."""
    auth = AuthSettings(
        issuer_url=AnyHttpUrl(ISSUER),
        resource_server_url=AnyHttpUrl(ADDRESS),
        client_registration_options=ClientRegistrationOptions(enabled="static" not in sys.argv),
        required_scopes=[],
        validate_token_resource=True,
    )
    return {"auth_server_provider": PEOPLE, "auth": auth}


def _auth() -> dict[str, Any]:
    if "sign-in" in sys.argv:
        return signing_in()
    return protection() if "oauth" in sys.argv else {}


PEOPLE = People("refuses" in sys.argv, 3_600, thinking=0.5 if "thinks" in sys.argv else 0.0)
if "static" in sys.argv:
    PEOPLE.clients[CLIENT] = registered(CLIENT, SECRET, f"http://127.0.0.1:{sys.argv[-1]}/callback")
served: MCPServer[Any] = MCPServer("small", **_auth())


@served.tool()
def process() -> str:
    """Tell the process that answers."""
    return str(os.getpid())


@served.tool()
def refuses(code: int) -> str:
    """Refuse with a code."""
    raise MCPError(code, "the quota is used up")


@served.tool()
async def waits() -> str:
    """Wait until it is cancelled."""
    WAITING.append("waits")
    try:
        await asyncio.Event().wait()
    finally:
        WAITING.append("was cancelled")
    return "never"


@served.tool()
def waited() -> list[str]:
    """Tell what became of those who wait."""
    return WAITING


@served.tool()
def dies() -> str:
    """End in the call."""
    os._exit(9)


@served.tool()
def revoke() -> str:
    """Take every token back."""
    TOKENS.clear()
    PEOPLE.tokens.clear()
    return "revoked"


@served.tool()
def renewed() -> str:
    """Tell how often a token was renewed."""
    return str(PEOPLE.renewals)


@served.tool()
def breaks(times: int) -> str:
    """Take every token back, and renew none the next times that it is asked."""
    OUT_OF_ORDER.extend([503] * times)
    return revoke()


@served.tool()
def sign_out() -> str:
    """Take every token back, and renew none."""
    PEOPLE.tokens.clear()
    PEOPLE.refresh_tokens.clear()
    return "signed out"


async def metadata(request: Request) -> JSONResponse:
    """RFC 8414."""
    return JSONResponse(
        {
            "issuer": f"{ISSUER}/",
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "response_types_supported": ["code"],
            "grant_types_supported": ["client_credentials"],
        }
    )


async def token(request: Request) -> JSONResponse:
    """RFC 6749, section 4.4."""
    form = await request.form()
    expected = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
    in_header = request.headers.get("authorization") == f"Basic {expected}"
    in_body = (form.get("client_id"), form.get("client_secret")) == (CLIENT, SECRET)
    if form.get("grant_type") != "client_credentials" or not (in_header or in_body):
        return JSONResponse({"error": "invalid_client"}, status_code=401)
    made = secrets.token_hex(16)
    TOKENS.add(made)
    return JSONResponse({"access_token": made, "token_type": "Bearer", "expires_in": 3_600})


@asynccontextmanager
async def at_port(port: int, *args: str) -> AsyncIterator[str]:
    """The server as a process of its own; gives its address."""
    command = ("tests.gateway_http_server", str(port), *args)
    made = await program(*command, env=os.environ, stdout=DEVNULL, stderr=DEVNULL)
    try:
        await until_open(port)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        if made.returncode is None:
            made.kill()
        await made.wait()


async def until_open(port: int) -> None:
    """Until something listens there."""
    with anyio.fail_after(30):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.02)
                continue
            writer.close()
            return


def handshake_only(app: Any) -> Any:
    """As a server that was written before the current protocol."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers") or ())
        if headers.get(b"mcp-method") == b"server/discover":
            await send({"type": "http.response.start", "status": 400, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await app(scope, receive, send)

    return answer


def often_broken(app: Any) -> Any:
    """As an authorization server that is down for a while."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope.get("path") == "/token" and OUT_OF_ORDER:
            await send({"type": "http.response.start", "status": OUT_OF_ORDER.pop(), "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await app(scope, receive, send)

    return answer


if __name__ == "__main__":
    is_sse = "sse" in sys.argv
    app = served.sse_app(sse_path="/mcp") if is_sse else served.streamable_http_app()
    if "oauth" in sys.argv:
        app.add_route("/.well-known/oauth-authorization-server", metadata)
        app.add_route("/token", token, methods=["POST"])
    made = handshake_only(app) if "handshake" in sys.argv else app
    uvicorn.run(often_broken(made), port=PORT, log_level="error")
