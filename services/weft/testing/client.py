"""A client whose log, workers and services are in this process: no server, no files, no waiting.

It runs the same code as the services. It lacks what a deployment adds: NATS with its permissions,
several processes, separately stored bodies, and the audit of compiles; so `reproduce` and
`operator` are missing.
"""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Sequence,
)
from typing import Any, Self

import msgspec

from weft import tokens
from weft.client.blocking import SyncClient
from weft.client.client import Client
from weft.client.event_check import checked
from weft.client.lazy_connection import closed_error
from weft.client.outgoing import Items, PublishAck, Sent, check_items
from weft.client.policy_check import check_policy
from weft.client.refusals import ItemRefused
from weft.compiler.attempt import CompileTask, attempt
from weft.compiler.scope_facts import with_facts
from weft.firewall.service import allowed, reply_of, signals_of, slice_of
from weft.firewall.views.drill import Slice
from weft.log.message import Ack
from weft.log.record import LogRecord
from weft.model_encodings import DEFAULT_ENCODING
from weft.readmodel.status import sessions_of, status
from weft.router.catalog_routers import CatalogRouters
from weft.router.item_faults import check_catalogue
from weft.router.service import HydrationJob, hydration, session_signals, tool_named
from weft.router.session_signals import with_signals
from weft.runtime.request_client import Reply
from weft.runtime.settings import Settings, read_settings
from weft.testing.in_memory_workers import InMemoryWorkers
from weft.testing.log import MemoryLog
from weft.workers.deriver import Deriver
from weft_schemas.compile import CompileRequest, DrilldownRequest, ExplainRequest
from weft_schemas.errors import InvalidInput, NotFound, Unavailable
from weft_schemas.events import Event, SessionClosedEvent
from weft_schemas.ids import TENANT_SESSION, SessionName, encode_token, handle_key
from weft_schemas.items import BodyRef, ContextItem
from weft_schemas.policy import ContextPolicy, Phase
from weft_schemas.ranges import check_ranges
from weft_schemas.routing import (
    Catalog,
    ChoiceReply,
    ChoiceRequest,
    HydrateRequest,
    RouteReply,
    RouteRequest,
)
from weft_schemas.status import SessionsRequest, StatusRequest

KEY = "weft.testing"
"""Fingerprints and handles are the same in every run of a test."""


def in_memory(
    tenant: str = "test",
    *,
    policy: ContextPolicy | None = None,
    workers: Sequence[Deriver] = (),
    encoding: str = DEFAULT_ENCODING,
) -> MemoryClient:
    """`async with weft.testing.in_memory() as client:` is a client with an empty log of its own.
    A `policy` is in force from the start, and `workers` of your own run beside weft's."""
    settings = read_settings({}, tenant=tenant, encoding=encoding, fingerprint_key=KEY)
    return MemoryClient(settings, policy, workers)


def in_memory_sync(
    tenant: str = "test",
    *,
    policy: ContextPolicy | None = None,
    workers: Sequence[Deriver] = (),
    encoding: str = DEFAULT_ENCODING,
) -> SyncClient:
    """The same without an event loop, like `weft.connect_sync`."""
    return SyncClient(in_memory(tenant, policy=policy, workers=workers, encoding=encoding))


class MemoryClient(Client):
    """A `Client` over a log in memory."""

    def __init__(
        self,
        settings: Settings,
        policy: ContextPolicy | None = None,
        workers: Sequence[Deriver] = (),
    ) -> None:
        super().__init__(settings)
        self._own_workers = workers
        self._first_policy = policy
        self._key = settings.fingerprint_key.encode()
        self._running: InMemoryWorkers | None = None
        self._catalogues = CatalogRouters(
            _no_body, settings.encoding, record_at=lambda at: self._working.log.read(at)
        )
        self._audits: dict[str, bytes] = {}
        self._decisions = 0

    async def __aenter__(self) -> Self:
        self._running = InMemoryWorkers(
            self.settings, MemoryLog(self.settings.encoding), self._own_workers
        )
        if self._first_policy is not None:
            await self.publish_policy(self._first_policy)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._working.log.close()
        self._running = None

    @property
    def _working(self) -> InMemoryWorkers:
        if self._running is None:
            raise closed_error()
        return self._running

    @property
    def is_up(self) -> bool:
        return True

    def _check_loop(self) -> None:
        """Any loop may use it."""

    async def publish(self, session: str, items: Items, *, traceparent: str = "") -> PublishAck:
        log = self._working.log
        encode_token(session, "session")
        check_items(items)
        given = [item async for item in _each(items)]
        for index, item in enumerate(given):
            if not isinstance(item, ContextItem):
                raise InvalidInput(
                    f"items[{index}]: expected a ContextItem, got {type(item).__name__}"
                )
            try:
                _check(item)
            except ItemRefused as error:
                error.index = index
                raise
        first, known = len(log.records) + 1, self._payloads(session)
        last, duplicates = 0, 0
        for item in given:
            payload = checked(item)
            if payload in known:
                duplicates += 1
                last = max(last, known[payload])
                continue
            last = known[payload] = (await self._take(session, item)).sequence
        sent = Sent()
        for item in given:
            sent.add(item.id, checked(item))
        ids, digests = tuple(sent.ids), tuple(sent.digests)
        return PublishAck(session, last, first, len(given), duplicates, ids, digests)

    def _payloads(self, session: str) -> dict[bytes, int]:
        """What a server would recognise: the session's items that were published with the same
        content."""
        return {
            record.payload: record.sequence
            for record in self._working.log.records
            if record.subject.startswith("w.in.") and record.address().session == session
        }

    async def close_session(self, session: str, reason: str = "closed") -> Ack:
        return _ack(await self._take(session, SessionClosedEvent(reason=reason)))

    async def publish_policy(self, policy: ContextPolicy, *, hook_elsewhere: bool = False) -> Ack:
        checked(policy)
        check_policy(policy, hook_elsewhere=hook_elsewhere)
        return _ack(await self._take(TENANT_SESSION, policy))

    async def publish_catalog(self, catalog: Catalog) -> Ack:
        checked(catalog)
        check_catalogue(catalog)
        record = await self._take(TENANT_SESSION, catalog)
        await self._catalogues.take(record)
        return _ack(record)

    async def catalog(self, name: str) -> tuple[int, Catalog]:
        for record in reversed(self._working.log.records):
            event = record.event()
            if isinstance(event, Catalog) and event.name == name:
                return record.sequence, event
        raise NotFound(f"catalogue {name!r} is not in the log; publish it")

    async def policy(
        self, session: str | None = None, *, as_of: int | None = None
    ) -> tuple[int, ContextPolicy]:
        view = self._working.log.model.view(self.tenant, session or TENANT_SESSION, as_of)
        return view.policy()

    async def events(
        self, session: str, *, first: int = 1, follow: bool = False
    ) -> AsyncGenerator[LogRecord, None]:
        if follow:
            raise InvalidInput("a log in memory cannot be followed; ask for events again")
        async for record in self._working.log.session(self.tenant, session, after=first - 1):
            yield record

    async def _take(self, session: str, event: Event) -> LogRecord:
        return await self._working.take(self.tenant, session, event)

    async def _ask(
        self,
        session: str,
        service: str,
        request: msgspec.Struct,
        kind: type[Reply],
        wait: float = 0.0,
        answer: float | None = None,
    ) -> Reply:
        check_ranges(request, f"{service} request")
        answers: dict[type, Callable[[str, Any], Awaitable[msgspec.Struct | bytes]]] = {
            CompileRequest: self._compile,
            ExplainRequest: self._explain,
            StatusRequest: self._status,
            SessionsRequest: self._sessions,
            DrilldownRequest: self._drilldown,
            RouteRequest: self._route,
            ChoiceRequest: self._choose,
            HydrateRequest: self._hydrate,
        }
        made = await answers[type(request)](session, request)
        body = made if isinstance(made, bytes) else msgspec.json.encode(made)
        return msgspec.json.decode(body, type=kind)

    async def _compile(self, session: str, request: CompileRequest) -> bytes:
        return await self._compiled(session, request)

    async def _explain(self, session: str, request: ExplainRequest) -> bytes:
        return await self._compiled(session, request.request, request.item_id)

    async def _compiled(
        self, session: str, request: CompileRequest, item: str | None = None
    ) -> bytes:
        request = await self._routed(session, request)
        base = self._audits.get(request.stable_from or "", b"")
        task = CompileTask(self.tenant, session, request, self._key, base, is_late=True, item=item)
        answer = attempt(self._working.log.model, task)
        if answer is None:
            raise Unavailable(f"session {session!r} is not settled")
        self._audits[answer.id] = answer.audit
        return answer.body

    async def _routed(self, session: str, request: CompileRequest) -> CompileRequest:
        if not request.catalog or request.as_of is not None:
            return request
        if request.phase is Phase.ROUTE:
            reply = await self._route(session, RouteRequest(request.query, request.catalog))
            return msgspec.structs.replace(request, cards=reply.cards)
        if request.phase is Phase.CALL and request.tool:
            hydrate = HydrateRequest(request.tool, request.catalog, request.query)
            found = await self._hydrate(session, hydrate)
            return msgspec.structs.replace(request, hydration=found)
        return request

    async def _status(self, session: str, request: StatusRequest) -> msgspec.Struct:
        name = None if session == TENANT_SESSION else session
        model = self._working.log.model
        reply = status(model.db, self.tenant, name, request)
        view = model.view(self.tenant, session)
        return with_facts(reply, view, request, self.settings.principal)

    async def _sessions(self, _: str, request: SessionsRequest) -> msgspec.Struct:
        return sessions_of(self._working.log.model.db, self.tenant, request)

    async def _drilldown(self, _: str, request: DrilldownRequest) -> msgspec.Struct:
        found, rules, redacted = allowed(
            self._working.log.model, self.tenant, request.handle, handle_key(self._key)
        )
        if redacted is not None:
            count = tokens.count(redacted, self.settings.encoding)
            shown = Slice(redacted, count, False, None, ())
            return reply_of(self.tenant, found, request, self._key, shown)
        source = (await self._working.log.read(found.sequence)).event()
        assert isinstance(source, ContextItem)
        return slice_of(
            self.tenant, found, request, self._key, self.settings.encoding, rules, source.text,
            signals_of(found),
        )  # fmt: skip

    async def _route(self, session: str, request: RouteRequest) -> RouteReply:
        held = await self._catalogues.held(self.tenant, request.catalog, request.after, 0.0)
        if session != TENANT_SESSION:
            known = session_signals(self._working.log.model, SessionName(self.tenant, session))
            request = with_signals(request, known, held.router.ids_named)
        self._decisions += 1
        reply = held.router.answer(request, request.query)
        return msgspec.structs.replace(
            reply, catalog_version=held.version, id=f"{self._decisions:016x}"
        )

    async def _choose(self, session: str, request: ChoiceRequest) -> ChoiceReply:
        return ChoiceReply(len(self._working.log.records))

    async def _hydrate(self, session: str, request: HydrateRequest) -> Any:
        items = await self._catalogues.items(self.tenant, request)
        task = HydrationJob(self.tenant, session, tool_named(items, request), request)
        return hydration(self._working.log.model, task)


def _check(item: ContextItem) -> None:
    if item.body is not None:
        raise ItemRefused(f"item {item.id!r}: give its text; no body lies apart in memory")
    checked(item)


async def _each(items: Items) -> AsyncIterator[ContextItem]:
    if isinstance(items, ContextItem):
        yield items
    elif isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


async def _no_body(tenant: str, body: BodyRef) -> bytes:
    raise NotFound(f"body {body.sha256} is not here; no body lies apart in memory")


def _ack(record: LogRecord) -> Ack:
    return Ack(record.sequence)
