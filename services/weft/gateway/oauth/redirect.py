"""The address that a browser returns to after its user has signed in: on this machine only, and
only while somebody waits for it (RFC 8252, section 7.3)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Self
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthFlowError
from mcp.shared.auth import AuthorizationCodeResult

SIGN_IN_SECONDS = 300.0
"""How long a person may take to sign in."""
_HOST, _PATH = "127.0.0.1", "/callback"
_REQUEST_SECONDS = 5.0
_DONE = (
    b"<!doctype html><title>weft</title><p>The browser is done: weft's answer stands in the "
    b"terminal. You can close this page.</p>"
)


class Redirect:
    """`async with Redirect(show) as redirect:`; `show` is called with the address to open."""

    def __init__(self, show: Callable[[str], Awaitable[None]], port: int = 0) -> None:
        """With `port` 0 a free port is taken. Opening raises `OSError` if the port is taken."""
        self._port = port
        self.send_to = show

    async def __aenter__(self) -> Self:
        self._back: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._server = await asyncio.start_server(self._answer, _HOST, self._port)
        self.uri = f"http://{_HOST}:{self._server.sockets[0].getsockname()[1]}{_PATH}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def result(self) -> AuthorizationCodeResult:
        """The browser's redirect. Raises `OAuthFlowError` if it was refused, or did not come in
        time."""
        try:
            back = await asyncio.wait_for(asyncio.shield(self._back), SIGN_IN_SECONDS)
        except TimeoutError:
            raise OAuthFlowError(f"nobody signed in within {SIGN_IN_SECONDS:.0f} s") from None
        if "code" not in back:
            reason = ": ".join(back[key] for key in ("error", "error_description") if key in back)
            raise OAuthFlowError(f"the authorization server refused ({reason})")
        return AuthorizationCodeResult(
            code=back["code"], state=back.get("state"), iss=back.get("iss")
        )

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(
            OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
        ):
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _REQUEST_SECONDS)
            fields = _answer_fields(head)
            if fields and not self._back.done():
                self._back.set_result(fields)
            status = b"200 OK" if fields else b"404 Not Found"
            body = _DONE if fields else b""
            writer.write(
                b"HTTP/1.1 %s\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n"
                b"Connection: close\r\n\r\n%s" % (status, len(body), body)
            )
            await writer.drain()
        writer.close()


def _answer_fields(head: bytes) -> dict[str, str]:
    """The parameters of the browser's request; empty for other requests, such as for an icon."""
    method, _, rest = head.decode("latin-1").partition(" ")
    place = urlsplit(rest.split(" ", 1)[0])
    fields = {key: values[0] for key, values in parse_qs(place.query).items()}
    is_answer = method == "GET" and place.path == _PATH and fields.keys() & {"code", "error"}
    return fields if is_answer else {}
