"""The ASGI application: one route for each operation, with tokens, limits and failures around it.
Litestar does the routing, bounded bodies, streams and lifespan. `openapi.py` says what it does not
do here, and why."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import ExitStack
from typing import Any

import msgspec
from litestar import Litestar, MediaType, Request, Response, get, post, route
from litestar.datastructures import State
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.response import Stream
from prometheus_client import generate_latest

from weft.client import Client
from weft.http import openapi, problems, sse, tracing
from weft.http.callers import caller, check_page
from weft.http.clients import Clients
from weft.http.grants import TokenGrant, TokenGrants
from weft.http.handlers import HANDLERS, STREAMS, OperationCall, problem_event
from weft.http.idempotency import Answers, checked_key
from weft.http.limits import MAX_BODY_BYTES, RATE, CallerLimits
from weft.http.metrics import RequestCounts
from weft.http.operations import Operation, of_session, paths
from weft.http.page import PAGE, POLICY
from weft.http.problems import RequestRefused, headers_of, problem_of
from weft.http.requests import (
    body_of,
    checked_type,
    inflated,
    last_event_of,
    query_of,
    session_of,
    too_large,
)
from weft.runtime.logs import safe_error
from weft.runtime.metrics import Metrics
from weft_schemas.errors import Unavailable, WeftError

_log = logging.getLogger(__name__)

JSON = "application/json"
Take = Callable[[Client, bytes, str], Awaitable[bytes]]
"""Imports an export of a media type, and answers it."""


class Application:
    """What the routes share."""

    def __init__(
        self,
        clients: Clients,
        grants: TokenGrants | TokenGrant,
        *,
        most_bytes: int = MAX_BODY_BYTES,
        rate: float = RATE,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`grants` has a single grant if there are no tokens."""
        self.clients = clients
        self.grants = grants
        self.most_bytes = most_bytes
        self.rate = rate
        self.limits = CallerLimits(now, most_bytes)
        self.answers = Answers(now)
        self.telemetry = tracing.Telemetry()
        self.metrics = Metrics("serve")
        self.counts = RequestCounts(self.metrics.registry, "serve")
        self.closing = asyncio.Event()

    def asgi(self) -> Litestar:
        """The application, for a server to run."""
        handlers = [self._route(path, several) for path, several in paths().items()]
        return Litestar(
            [
                *handlers,
                self._telemetry("/v1/traces", "traces", self.telemetry.take_traces),
                self._telemetry("/v1/logs", "logs", self.telemetry.take_logs),
                *self._pages(),
            ],
            openapi_config=None,
            logging_config=None,
            request_max_body_size=self.most_bytes,
            state=State({"most_bytes": self.most_bytes}),
            exception_handlers={
                WeftError: _failed,
                HTTPException: _unrouted,
                Exception: _broken,
            },
        )

    def _route(self, path: str, operations: list[Operation]) -> HTTPRouteHandler:
        by_method = {one.method: one for one in operations}

        async def handle(request: Request[Any, Any, Any]) -> Response[Any]:
            operation = by_method[request.method]
            with ExitStack() as ending:
                ending.enter_context(self.counts.request(operation.name))
                return await self._answer(operation, request, ending)

        litestar_path = path.replace("{session}", "{session:str}")
        return route(litestar_path, http_method=list(by_method), status_code=200)(handle)  # type: ignore[arg-type]

    async def _answer(
        self, operation: Operation, request: Request[Any, Any, Any], ending: ExitStack
    ) -> Response[Any]:
        """`ending` has what is to be done when the request ends, after its answer is made; a stream
        takes it over."""
        grant = self._admitted(request)
        content = b""
        if operation.body:
            optional = operation.is_body_optional
            content = await self._content(request, (JSON,), grant, ending, optional)
        call = OperationCall(
            client=await self.clients.of(grant),
            log=lambda: self.clients.of_log(grant),
            session=_session_in(request) if of_session(operation) else "",
            body=body_of(operation, content) if operation.body else None,
            query=query_of(operation, dict(request.query_params.items())),
            last_event=last_event_of(request.headers.get("last-event-id")),
            closing=self.closing,
        )
        if operation.events and sse.accepts(request.headers.get("accept", "")):
            return await self._streamed(operation, grant, call, ending)

        async def work() -> bytes:
            return msgspec.json.encode(await HANDLERS[operation.name](call))

        key = request.headers.get("idempotency-key")
        if not key or not operation.body:
            return _json(await work())
        address = (grant.name, operation.name, str(request.url.path), str(request.url.query))
        asked = (*address, checked_key(key))
        answer, again = await self.answers.once(asked, content, work)
        return _json(answer, {"idempotency-replayed": "true"} if again else {})

    def _admitted(self, request: Request[Any, Any, Any]) -> TokenGrant:
        """Who sent the request; counts it against the limit. Raises `RequestRefused`."""
        headers = request.headers
        if isinstance(self.grants, TokenGrant):
            check_page(headers)
        grant = caller(self.grants, headers.get("authorization", ""), headers.get("host", ""))
        self.limits.take(grant.name, grant.rate or self.rate)
        return grant

    async def _content(
        self,
        request: Request[Any, Any, Any],
        types: tuple[str, ...],
        grant: TokenGrant,
        ending: ExitStack,
        optional: bool = False,
    ) -> bytes:
        """The unpacked body, which counts as in progress until the request ends. If a body is
        optional and left out, it needs no media type either."""
        if optional and not await _received(request):
            return b"{}"
        checked_type(request.headers.get("content-type", ""), types)
        encoding = request.headers.get("content-encoding", "")
        content = inflated(await _received(request), encoding, self.most_bytes)
        ending.enter_context(self.limits.body(grant.name, len(content)))
        return content

    async def _streamed(
        self, operation: Operation, grant: TokenGrant, call: OperationCall, ending: ExitStack
    ) -> Response[Any]:
        """A stream, returned once it has begun: an earlier failure has a status of its own. Raises
        `Unavailable` if it ends before that, as streams do when the process ends."""

        async def chunks() -> AsyncGenerator[bytes, None]:
            is_empty = True
            with ending.pop_all(), self.limits.stream(grant.name):
                async for chunk in STREAMS[operation.name](call):
                    is_empty = False
                    yield chunk
                if is_empty:
                    raise Unavailable("this process ends, and the stream with it; connect again")

        begun = chunks()
        first = await anext(begun)

        async def body() -> AsyncGenerator[bytes, None]:
            yield first
            try:
                async for chunk in begun:
                    yield chunk
            except WeftError as error:
                yield problem_event(error)

        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return Stream(body(), media_type=sse.MEDIA_TYPE, headers=headers)

    def _telemetry(self, path: str, name: str, take: Take) -> HTTPRouteHandler:
        """In OpenTelemetry's own form: the answer has the form of the request."""

        @post(path, status_code=200)
        async def telemetry(request: Request[Any, Any, Any]) -> Response[bytes]:
            with ExitStack() as ending:
                ending.enter_context(self.counts.request(name))
                grant = self._admitted(request)
                content = await self._content(request, tracing.TYPES, grant, ending)
                kind = checked_type(request.headers.get("content-type", ""), tracing.TYPES)
                answer = await take(await self.clients.of(grant), content, kind)
            return Response(answer, media_type=kind)

        return telemetry

    async def _is_ready(self) -> bool:
        """Whether the log can be reached; with tokens, with the credentials that have been used so
        far."""
        try:
            if isinstance(self.grants, TokenGrant):
                await self.clients.of(self.grants)
        except WeftError:
            return False
        return self.clients.are_up() and not self.closing.is_set()

    def _pages(self) -> list[HTTPRouteHandler]:
        """Routes for people and for operators of the process; they need no token."""
        schema = openapi.encoded()

        @get("/openapi.json")
        async def openapi_json() -> Response[bytes]:
            return _json(schema)

        @get("/")
        async def page() -> Response[bytes]:
            headers = {"content-security-policy": POLICY}
            return Response(PAGE, media_type=MediaType.HTML, headers=headers)

        @get("/live")
        async def live() -> Response[bytes]:
            return Response(b"live\n", media_type=MediaType.TEXT)

        @get("/ready")
        async def ready() -> Response[bytes]:
            if await self._is_ready():
                return Response(b"ready\n", media_type=MediaType.TEXT)
            complaint = b"not ready: the connection to the log is down\n"
            return Response(complaint, media_type=MediaType.TEXT, status_code=503)

        @get("/metrics")
        async def metrics() -> Response[bytes]:
            counted = generate_latest(self.metrics.registry)
            return Response(counted, media_type="text/plain; version=0.0.4")

        return [openapi_json, page, live, ready, metrics]


async def _received(request: Request[Any, Any, Any]) -> bytes:
    try:
        return await request.body()
    except HTTPException as error:  # it is too large, or the caller has gone
        raise _request_error(request, error) from None


def _session_in(request: Request[Any, Any, Any]) -> str:
    return session_of(request.path_params["session"], request.scope.get("raw_path") or b"")


def _json(content: bytes, headers: dict[str, str] | None = None) -> Response[bytes]:
    return Response(content, media_type=JSON, headers=headers)


def _problem_response(error: WeftError, headers: dict[str, str] | None = None) -> Response[bytes]:
    problem = problem_of(error)
    return Response(
        msgspec.json.encode(problem),
        status_code=problem.status,
        media_type=problems.MEDIA_TYPE,
        headers={**(headers or {}), **headers_of(error)},
    )


def _failed(_: Any, error: WeftError) -> Response[bytes]:
    return _problem_response(error)


def _unrouted(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    allowed = {"allow": headers["allow"]} if "allow" in headers else {}
    return _problem_response(_request_error(request, error), allowed)


def _request_error(request: Request[Any, Any, Any], error: HTTPException) -> RequestRefused:
    """What Litestar itself refuses: an unknown path or method, too large a body."""
    if error.status_code == 413:
        return too_large(request.app.state.most_bytes)
    code = {404: "path", 405: "method"}.get(error.status_code, "http")
    detail = f"{request.method} {request.url.path:.200}: {error.detail}; see /openapi.json"
    return RequestRefused(error.status_code, code, detail)


def _broken(_: Any, error: Exception) -> Response[bytes]:
    """A fault of the server. It is logged; the caller gets no text, since that might quote what it
    may not see."""
    _log.error("a request failed", exc_info=error)
    return _problem_response(
        WeftError(f"the server failed on this request ({safe_error(error)}); see its log")
    )
