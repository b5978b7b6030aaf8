"""What each operation does with the client: one function for each, and one for each stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any

import msgspec

from weft.client import Client
from weft.client.absent_sessions import no_events
from weft.client.drilldown import checked_arguments
from weft.client.histories import PublishedMessages
from weft.client.pack import Pack
from weft.http import sse
from weft.http.payloads import (
    MAX_EVENTS,
    Closed,
    Compiled,
    EventPage,
    LogEvent,
    MessagesBody,
    Progress,
    Published,
)
from weft.http.problems import problem_of
from weft.log.record import LogRecord
from weft_schemas.compile import CompileRequest, DrilldownReply, DrilldownRequest, ExplainReply
from weft_schemas.errors import InvalidInput, NotFound, Unavailable, WeftError
from weft_schemas.routing import ChoiceReply, HydrateRequest, HydrationResult, RouteReply
from weft_schemas.status import SessionsReply, StatusReply

PAGE_BYTES = 16 * 1024 * 1024
"""Of events; a page ends with the event that reaches it."""
REPORT_SECONDS = 0.25
"""How often a waiting compile reports what it waits for."""
FIRST_SECONDS = 0.5
"""After which a stream on which nothing has come reports that it is open."""
HEARTBEAT_SECONDS = 15.0
_OF_SERVICE = ("cards", "hydration")


class OperationCall(msgspec.Struct, frozen=True):
    """One request, decoded."""

    client: Client
    log: Callable[[], Awaitable[Client]]
    """A client that may read the log. Raises `Forbidden`."""
    session: str
    body: Any
    query: Any
    last_event: int | None
    """`Last-Event-ID`."""
    closing: asyncio.Event
    """Set when the process ends, which ends the streams."""


Handler = Callable[[OperationCall], Awaitable[msgspec.Struct]]
Stream = Callable[[OperationCall], AsyncIterator[bytes]]


async def publish(call: OperationCall) -> Published:
    ack = await call.client.publish(call.session, call.body)
    acknowledged = msgspec.structs.replace(ack, digests=msgspec.UNSET)
    if not call.query.confirm:
        return Published(acknowledged)
    return Published(acknowledged, await call.client.confirm(call.session, ack))


async def messages(call: OperationCall) -> PublishedMessages:
    given: MessagesBody = call.body
    return await call.client.publish_messages(
        call.session, given.messages, format=given.format, on_edit=given.on_edit
    )


async def close(call: OperationCall) -> Closed:
    with suppress(Unavailable):  # without a replica a close is stored all the same
        await call.client._known_session(call.session)
    ack = await call.client.close_session(call.session, call.body.reason)
    return Closed(call.session, ack.sequence)


async def compile(call: OperationCall) -> Compiled:
    request: CompileRequest = call.body
    for field in _OF_SERVICE:
        if getattr(request, field) is not msgspec.UNSET:
            raise InvalidInput(f"compile request: $.{field} is filled in by the service; drop it")
    pack = await call.client.compile(
        call.session,
        request.phase,
        query=request.query,
        budget=request.budget,
        reserve=request.reserve,
        tools=request.tools,
        tool=request.tool,
        catalog=request.catalog,
        after=request.after,
        as_of=request.as_of,
        stable_from=request.stable_from,
        pin=request.pin or (),
        scopes=None if request.scopes is msgspec.UNSET else request.scopes,
        policy=request.policy,
        timeout=request.timeout,
    )
    return _compiled(pack, call.query.provider)


async def explain(call: OperationCall) -> ExplainReply:
    return await call.client.explain(call.session, call.body.item_id, call.body.request)


async def hydrate(call: OperationCall) -> HydrationResult:
    asked: HydrateRequest = call.body
    return await call.client.hydrate(
        asked.tool,
        call.session,
        catalog=asked.catalog,
        query=asked.query,
        after=asked.after,
        timeout=asked.timeout,
    )


async def drilldown(call: OperationCall) -> DrilldownReply:
    asked: DrilldownRequest = call.body
    args = checked_arguments(asked.args)
    return await call.client.drilldown(
        asked.handle, asked.view, max_tokens=asked.max_tokens, timeout=None, **args
    )


async def route(call: OperationCall) -> RouteReply:
    asked = call.body
    return await call.client.route(
        asked.query,
        asked.catalog,
        top_k=asked.top_k,
        namespaces=asked.namespaces,
        tags=asked.tags,
        exclude=asked.exclude,
        failed=asked.failed,
        used=asked.used,
        session=call.query.session,
        after=asked.after,
        timeout=asked.timeout,
    )


async def choose(call: OperationCall) -> ChoiceReply:
    return await call.client.choose(call.body.decision, call.body.item, call.query.session)


async def status(call: OperationCall) -> StatusReply:
    found = await call.client.status()
    if not call.query.processes:
        return found
    return msgspec.structs.replace(found, processes=await call.client.processes())


async def session_status(call: OperationCall) -> StatusReply:
    return await call.client._known_session(call.session)


async def sessions(call: OperationCall) -> SessionsReply:
    return await call.client.sessions(beyond=call.query.beyond, limit=call.query.limit)


async def events(call: OperationCall) -> EventPage:
    log = await call.log()
    found: list[LogEvent] = []
    size = 0
    async with aclosing(log.events(call.session, first=_first(call))) as records:
        async for record in records:
            if len(found) == min(call.query.limit, MAX_EVENTS) or size >= PAGE_BYTES:
                return EventPage(tuple(found), record.sequence)
            found.append(_event(record))
            size += len(record.payload)
    if not found and _first(call) == 1:  # a later page may be empty, and a log trimmed
        try:
            await call.client._known_session(call.session)
        except (NotFound, Unavailable):
            raise await no_events(log.connection, log.tenant, call.session) from None
    return EventPage(tuple(found), None)


async def events_stream(call: OperationCall) -> AsyncIterator[bytes]:
    """The session's events, then new ones, until the caller or this process ends."""
    log = await call.log()
    async with aclosing(log.events(call.session, first=_first(call), follow=True)) as records:
        async for record in _ticking(aiter(records), call.closing):
            if record is None:
                yield sse.HEARTBEAT
                continue
            one = _event(record)
            yield sse.event(msgspec.json.encode(one), one.kind, str(one.sequence))


async def compile_stream(call: OperationCall) -> AsyncIterator[bytes]:
    """What the compile waits for, whenever that changes, then the context. Raises what the compile
    raises."""
    compiling = asyncio.ensure_future(compile(call))
    latest: Progress | None = None
    try:
        while not (await asyncio.wait([compiling], timeout=REPORT_SECONDS))[0]:
            progress = await _progress(call)
            if progress is not None and progress != latest:
                latest = progress
                yield sse.event(msgspec.json.encode(progress), "progress")
        yield sse.event(msgspec.json.encode(compiling.result()), "compiled")
    finally:
        compiling.cancel()


def problem_event(error: WeftError) -> bytes:
    """A failure in a stream that has begun."""
    return sse.event(msgspec.json.encode(problem_of(error)), "problem")


HANDLERS: dict[str, Handler] = {
    "publish": publish,
    "messages": messages,
    "close": close,
    "compile": compile,
    "explain": explain,
    "hydrate": hydrate,
    "drilldown": drilldown,
    "route": route,
    "choose": choose,
    "status": status,
    "session_status": session_status,
    "sessions": sessions,
    "events": events,
}
STREAMS: dict[str, Stream] = {"compile": compile_stream, "events": events_stream}


def _compiled(pack: Pack, provider: Any) -> Compiled:
    request = pack.request(provider) if provider else msgspec.UNSET
    return Compiled(pack, request, pack.left_out)


async def _progress(call: OperationCall) -> Progress | None:
    try:
        now = await call.client.status(call.session)
    except WeftError:  # the compile itself reports what is wrong
        return None
    waiting = tuple(one.item_id for one in now.waiting)
    return Progress(now.sequence, call.body.after, now.pending, waiting)


async def _ticking(
    records: AsyncIterator[LogRecord], closing: asyncio.Event
) -> AsyncIterator[LogRecord | None]:
    """The records, with None whenever none came for a while. Ends with the process."""
    ending = asyncio.ensure_future(closing.wait())
    timeout = FIRST_SECONDS
    coming: asyncio.Future[LogRecord] | None = None
    try:
        while not ending.done():
            coming = coming or asyncio.ensure_future(anext(records))
            both: set[asyncio.Future[Any]] = {coming, ending}
            await asyncio.wait(both, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            timeout = HEARTBEAT_SECONDS
            if coming.done():
                record, coming = coming.result(), None
                yield record
            elif not ending.done():
                yield None
    except StopAsyncIteration:
        return
    finally:
        for task in (ending, coming):
            if task is not None:
                task.cancel()
        await asyncio.gather(ending, *([coming] if coming else []), return_exceptions=True)


def _first(call: OperationCall) -> int:
    return call.query.first if call.last_event is None else call.last_event + 1


def _event(record: LogRecord) -> LogEvent:
    _, direction, _, _, _, kind, *_ = record.subject.split(".")
    return LogEvent(
        record.sequence, record.published_ns, direction, kind, record.message_id, _json(record)
    )


def _json(record: LogRecord) -> msgspec.Raw | None:
    """The payload if it is JSON: a client may have published any bytes."""
    try:
        msgspec.json.decode(record.payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return msgspec.Raw(record.payload)
