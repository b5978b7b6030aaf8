"""The compiler as a service: reads the replica's newest generation and answers `compile`, `explain`
and `status`. The reply to a compile waits for the acknowledgement of its audit event, so every pack
can be reproduced.

Short compiles read SQLite in the event loop (`Replica.read_here` says why), and so do explanations:
each is a whole compile, and takes 1 ms longer in a thread.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import aclosing
from functools import partial
from math import inf
from typing import Any

import msgspec

from weft.compiler.attempt import (
    CompileResult,
    CompileTask,
    Postponed,
    attempt,
    short_attempt,
)
from weft.compiler.retrieval_span import retrieval_span
from weft.compiler.rights import floor_of
from weft.compiler.scope_facts import with_facts
from weft.compiler.work_estimate import is_judged_here
from weft.log.connection import Connection
from weft.log.message import event_headers
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence, newest_first
from weft.readmodel.model import ReadModel
from weft.readmodel.status import sessions_of, status
from weft.runtime.crashpoints import crash_point
from weft.runtime.pool import Pool
from weft.runtime.process import Process
from weft.runtime.replica import Replica, pool_work
from weft.runtime.request_client import ask
from weft.runtime.request_server import RequestServer
from weft.runtime.requests import ReceivedRequest
from weft.runtime.roll_call import call_roll, for_tenants
from weft_schemas.compile import CompileRequest, ExplainRequest
from weft_schemas.errors import Unavailable
from weft_schemas.ids import OPERATOR, TENANT_SESSION
from weft_schemas.items import ItemKind
from weft_schemas.policy import Phase
from weft_schemas.routing import HydrateRequest, HydrationResult, RouteReply, RouteRequest
from weft_schemas.status import SessionsReply, SessionsRequest, StatusReply, StatusRequest
from weft_schemas.subjects import AUDIT_STREAM, audit_subject

KEPT_AUDITS = 1_000
"""Of this process's own compiles, for `stable_from`; older ones are read from the audit stream."""


async def answer(
    process: Process,
    replica: Replica,
    pool: Pool,
    publisher: Publisher,
    request_server: RequestServer,
) -> None:
    """Answer `compile`, `explain`, `status` and `sessions` from now on."""
    compiler = Compiler(process, replica, pool, publisher)
    await request_server.answer("compile", CompileRequest, compiler.compile)
    await request_server.answer("explain", ExplainRequest, compiler.explain)
    await request_server.answer("status", StatusRequest, compiler.status)
    await request_server.answer("sessions", SessionsRequest, compiler.sessions)


class Compiler:
    """Answers over one replica."""

    def __init__(
        self, process: Process, replica: Replica, pool: Pool, publisher: Publisher
    ) -> None:
        self._replica = replica
        self._pool = pool
        self._data_dir = process.settings.data_dir
        self._audits = Audits(process.connection, publisher)
        self._connection = process.connection
        self._ask = partial(ask, process.connection)
        self._key = process.settings.fingerprint_key.encode()
        self._tracing = process.tracing
        self._in_work: dict[bytes, asyncio.Task[CompileResult | None]] = {}
        """Heavy compiles by their tasks as JSON."""
        self._after_work = crash_point("compiler.after_work")
        self._after_publish = crash_point("compiler.after_publish")

    async def compile(self, asked: ReceivedRequest[CompileRequest]) -> msgspec.Raw:
        """The pack, recorded. Raises `NotFound` for a session that is not in the log."""
        query = asked.request.query if self._tracing.shows_content else ""
        with retrieval_span(self._tracing.tracer, asked.session, query) as made:
            answer = await self._answered(asked, await self._routed(asked, asked.request))
            self._after_work()
            await self._audits.record(asked.tenant, asked.session, answer)
            self._after_publish()
            made(answer.body)
        return msgspec.Raw(answer.body)

    async def explain(self, asked: ReceivedRequest[ExplainRequest]) -> msgspec.Raw:
        """What the compile would do with one item; nothing is recorded. Raises `NotFound` for a
        session or item that does not exist at the sequence read."""
        inner = await self._routed(asked, asked.request.request)
        answer = await self._answered(asked, inner, asked.request.item_id)
        return msgspec.Raw(answer.body)

    async def status(self, asked: ReceivedRequest[StatusRequest]) -> StatusReply:
        """What this replica has folded, of a session or of the tenant. Raises `Forbidden` for the
        facts of a scope that is not granted."""
        request = asked.request
        session = None if asked.session == TENANT_SESSION else asked.session
        last = await last_sequence(self._connection) if request.newest else 0
        after = max(request.after, last)
        deadline = self._replica.deadline(asked.within(request.timeout))
        folded = await self._replica.reach(after, deadline)
        if request.newest and folded < after:
            raise Unavailable(f"the read model is at {folded}, the log at {after}; try again")
        found = await self._replica.read(
            lambda model: with_facts(
                status(model.db, asked.tenant, session, request),
                model.view(asked.tenant, asked.session),
                request,
                asked.principal,
            )
        )
        if request.processes:
            processes = await call_roll(self._connection, asked.tenant)
            if asked.is_tenants and asked.principal != OPERATOR:
                processes = tuple(map(for_tenants, processes))
            found = msgspec.structs.replace(found, processes=processes)
        if asked.is_tenants and asked.principal != OPERATOR:
            return found
        # Unset without damage: a client of an older release does not know this field.
        return msgspec.structs.replace(found, rebuilt=self._replica.last_damage() or msgspec.UNSET)

    async def sessions(self, asked: ReceivedRequest[SessionsRequest]) -> SessionsReply:
        """The tenant's sessions that this replica has folded, a page of them."""
        return await self._replica.read(
            lambda model: sessions_of(model.db, asked.tenant, asked.request)
        )

    async def _routed(self, asked: ReceivedRequest[Any], request: CompileRequest) -> CompileRequest:
        """The request with the router's answer for its catalogue: cards to choose from, or the
        chosen tool with the session's values. The past (`as_of`) is compiled without a router.
        Raises `NotFound` for an unknown catalogue or tool, `Unavailable` without a router."""
        if not request.catalog or request.as_of is not None:
            return request
        tenant, session = asked.tenant, asked.session
        if request.phase is Phase.ROUTE:
            query = request.query or await self._latest_turn(asked, request)
            route = RouteRequest(query, request.catalog)
            reply = await self._ask((tenant, session, "route"), route, RouteReply)
            return msgspec.structs.replace(request, cards=reply.cards)
        if request.phase is Phase.CALL and request.tool:
            timeout = asked.within(request.timeout)
            hydrate = HydrateRequest(
                request.tool, request.catalog, request.query, request.after, timeout
            )
            address = (tenant, session, "hydrate")
            found = await self._ask(address, hydrate, HydrationResult, timeout)
            return msgspec.structs.replace(request, hydration=found)
        return request

    async def _latest_turn(self, asked: ReceivedRequest[Any], request: CompileRequest) -> str:
        """The latest user turn, which is the routing query of a request without one; empty if it is
        too sensitive to show."""
        deadline = self._replica.deadline(asked.within(request.timeout))
        await self._replica.reach(request.after, deadline)

        def read(model: ReadModel) -> str:
            view = model.view(asked.tenant, asked.session)
            floor = floor_of(view, request, asked.principal)
            turns = view.of_kind(ItemKind.USER_TURN, 1)
            return "".join(turn.text for turn in turns if not turn.sensitivity.reaches(floor))

        return await self._replica.read_here(asked.tenant, read)

    async def _answered(
        self, asked: ReceivedRequest[Any], request: CompileRequest, item: str | None = None
    ) -> CompileResult:
        """Wait for the sequence that the request names, then compile: here if that is short work,
        else in a process of the pool."""
        tenant, session = asked.tenant, asked.session
        base = await self._audits.find(tenant, session, request.stable_from)
        if request.stable_from and not base:
            # The record must say that no base was used: a reproduction reads the whole log, and
            # might find a base that is too old to be found here.
            request = msgspec.structs.replace(request, stable_from="")
        task = CompileTask(
            tenant, session, request, self._key, base, principal=asked.principal, item=item
        )
        deadline = self._replica.deadline(asked.within(request.timeout))
        folded = await self._replica.reach(max(request.after, request.as_of or 0), deadline)
        while True:
            if self._replica.is_late(deadline):
                task = msgspec.structs.replace(task, is_late=True)
            outcome: CompileResult | Postponed = Postponed.LONG
            if is_judged_here(request):
                outcome = await self._short(task)
            if outcome is Postponed.LONG:
                outcome = await self._heavy(asked, task) or Postponed.UNSETTLED
            if isinstance(outcome, CompileResult):
                return outcome
            folded = await self._replica.reach(folded + 1, deadline)

    async def _short(self, task: CompileTask) -> CompileResult | Postponed:
        """The result if it is short work. That is done here, or for an isolated tenant in the
        process for short work; in neither does it wait for heavy work."""
        tenant = task.tenant
        if self._pool.is_isolated(tenant):
            work = pool_work(self._data_dir, short_attempt, task)
            return await self._pool.run_short(tenant, task.session, work) or Postponed.LONG
        return await self._replica.read_here(tenant, partial(self._here, task))

    async def _heavy(self, asked: ReceivedRequest[Any], task: CompileTask) -> CompileResult | None:
        """The result in a process of the pool. A request that was sent again, as clients do after
        some seconds, gets the result of the first: it would be worked on after that is answered."""
        key = msgspec.json.encode(task)
        first = self._in_work.get(key)
        if first is not None and asked.left < inf:
            await asyncio.wait([first])
            if not first.cancelled():
                return first.result()
        work = pool_work(self._data_dir, attempt, task)
        running = asyncio.create_task(self._pool.run(task.tenant, task.session, work))
        self._in_work[key] = running
        try:
            return await running
        finally:
            if self._in_work.get(key) is running:
                del self._in_work[key]

    def _here(self, task: CompileTask, model: ReadModel) -> CompileResult | Postponed:
        with self._pool.watched(task.tenant):
            outcome = short_attempt(model, task)
        # Heavy ones do not crowd out others, however many are estimated at a time.
        if outcome is not Postponed.LONG and self._replica.is_crowding(task.tenant):
            self._pool.isolate(task.tenant)
        return outcome


class Audits:
    """Records compiles in a separate stream."""

    def __init__(self, connection: Connection, publisher: Publisher) -> None:
        self._connection = connection
        self._publisher = publisher
        self._newest: OrderedDict[tuple[str, str, str], bytes] = OrderedDict()

    async def record(self, tenant: str, session: str, answer: CompileResult) -> None:
        """Publish an audit, and return when it is stored. The same compile again has the same
        id."""
        subject = audit_subject(tenant, session, "compiled")
        headers = event_headers(answer.id, "weft.compiled", "/weft/compiler")
        await self._publisher.publish(subject, answer.audit, answer.id, headers)
        self._newest[tenant, session, answer.id] = answer.audit
        if len(self._newest) > KEPT_AUDITS:
            self._newest.popitem(last=False)

    async def find(self, tenant: str, session: str, pack_id: str | None) -> bytes:
        """The audit of a pack of this session; empty if no pack with this id is among the session's
        `LOOKED_BACK` latest, or among those that this process remembers."""
        if not pack_id:
            return b""
        known = self._newest.get((tenant, session, pack_id))
        if known is not None:
            return known
        subject = audit_subject(tenant, session, "compiled")
        records = newest_first(self._connection, subject, stream=AUDIT_STREAM)
        async with aclosing(records):
            async for record in records:
                if record.message_id == pack_id:
                    return record.payload
        return b""
