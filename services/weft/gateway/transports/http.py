"""Servers that have an address: Streamable HTTP and the older SSE, with a limit on each answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from weft.gateway.configuration.config import ServerSpec


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: Any, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > self._most:
                raise httpx2.ReadError(f"it sent an answer of more than {self._most:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """Ends an answer that is too long. Event streams have no end; their events are limited instead.
    If a server no longer knows the session, only the status is passed on: the SDK would take the
    server's error text for the answer."""

    def __init__(self, spec: ServerSpec) -> None:
        super().__init__()
        self._name = spec.name
        self._url = httpx2.URL(spec.url)
        self._most = spec.limits.message_bytes
        self.fault = ""
        """Why the server refuses the gateway, if it does."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        is_json = request.headers.get("content-type") == "application/json"
        if request.url == self._url or is_json:  # not questions to an authorization server
            is_refused = response.status_code in (401, 403)
            self.fault = _NOT_LET_IN.format(response.status_code, self._name) if is_refused else ""
        if response.status_code == 404 and "mcp-session-id" in request.headers:
            await response.aclose()
            return httpx2.Response(404)
        if "event-stream" not in response.headers.get("content-type", ""):
            response.stream = _Bounded(response.stream, self._most)
        return response


_NOT_LET_IN = (
    "it does not let this gateway in (HTTP {}); sign in with: weft gateway login {} --config FILE, "
    'or give its token under `headers`, or the client\'s credentials under "weft": {{"oauth": …}}'
)


def http_server(
    spec: ServerSpec, auth: httpx2.Auth | None
) -> AbstractAsyncContextManager[TransportStreams]:
    """A transport for the SDK's client, with the configured headers."""
    return _Sse(spec, auth) if spec.transport == "sse" else _Streamable(spec, auth)


class _AtAddress:
    """The common part of the SDK's two transports over HTTP."""

    def __init__(self, spec: ServerSpec, auth: httpx2.Auth | None) -> None:
        self._spec = spec
        self._auth = auth
        self._transport = BoundedTransport(spec)

    @property
    def fault(self) -> str:
        """Why the server refuses the gateway, if it does."""
        return getattr(self._auth, "fault", "") or self._transport.fault


class _Sse(_AtAddress):
    def __init__(self, spec: ServerSpec, auth: httpx2.Auth | None) -> None:
        super().__init__(spec, auth)
        self.lost = asyncio.Event()
        """A message could not be delivered. The SDK's transport sends no other after it, and
        reports nothing."""

    async def __aenter__(self) -> TransportStreams:
        self._streams = sse_client(
            self._spec.url,
            headers=dict(self._spec.headers),
            auth=self._auth,
            httpx_client_factory=self._client,
        )
        streams: TransportStreams = await self._streams.__aenter__()
        return streams

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._streams.__aexit__(*error)

    def _client(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        return _Sending(
            self.lost, headers=headers, timeout=timeout, auth=auth, transport=self._transport
        )


class _Sending(httpx2.AsyncClient):
    """Reports messages that could not be delivered."""

    def __init__(self, lost: asyncio.Event, **options: Any) -> None:
        super().__init__(**options)
        self._lost = lost

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            response = await super().send(request, **options)
        except httpx2.HTTPError:
            self._lost.set()
            raise
        if not response.is_success:
            self._lost.set()
        return response


class _Streamable(_AtAddress):
    async def __aenter__(self) -> TransportStreams:
        made = create_mcp_http_client(headers=dict(self._spec.headers))
        self._client = httpx2.AsyncClient(
            headers=made.headers,
            timeout=made.timeout,
            auth=self._auth,
            transport=self._transport,
        )
        await made.aclose()
        await self._client.__aenter__()
        self._streams = streamable_http_client(
            self._spec.url,
            http_client=self._client,
            max_sse_event_size=self._spec.limits.message_bytes,
        )
        return await self._streams.__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        try:
            await self._streams.__aexit__(*error)
        finally:
            await self._client.__aexit__(None, None, None)
