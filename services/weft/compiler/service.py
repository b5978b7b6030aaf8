"""The compiler as a service: reads the replica's newest generation and answers `compile`,
`explain` and `status`.

The reply to a compile waits for the acknowledgement of its audit event, so that every pack that
anybody holds can be reproduced.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import aclosing
from enum import Enum
from functools import partial
from typing import Any

import msgspec

from weft.compiler.compile import Compilation, budget_of, compile_pack
from weft.compiler.rights import policy_of, within_grants
from weft.log.connection import Connection
from weft.log.message import event_headers
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence, newest_first
from weft.readmodel.model import ReadModel
from weft.readmodel.status import status
from weft.runtime.answering import Answering, Asked
from weft.runtime.asking import ask
from weft.runtime.crashpoints import crash_point
from weft.runtime.process import Process
from weft.runtime.replica import Replica
from weft.runtime.roll import call_roll
from weft_schemas.compile import (
    CompileAudit,
    CompileRequest,
    ContextPack,
    ExplainReply,
    ExplainRequest,
    PendingItem,
)
from weft_schemas.errors import NotFound, Unavailable, WeftError
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import ItemKind
from weft_schemas.policy import Phase
from weft_schemas.routing import HydrateRequest, HydrationResult, RouteReply, RouteRequest
from weft_schemas.status import StatusReply, StatusRequest
from weft_schemas.subjects import AUDIT_STREAM, audit_subject

SHORT_BUDGET = 8_000
"""Tokens up to which a compile is short work: 10 to 25 ms, on an earlier pack 30 to 50."""
KEPT_AUDITS = 1_000
"""Of this process's own compiles, for `stable_from`; older ones are read from the audit stream."""


class _Again(Enum):
    """How a compile that was not done is tried again."""

    WHEN_SETTLED = "when more is folded"
    IN_A_THREAD = "in a reader thread"


async def answer(
    process: Process, replica: Replica, publisher: Publisher, answering: Answering
) -> None:
    """Answer `compile`, `explain` and `status` from now on."""
    compiler = Compiler(process, replica, publisher)
    await answering.answer("compile", CompileRequest, compiler.compile)
    await answering.answer("explain", ExplainRequest, compiler.explain)
    await answering.answer("status", StatusRequest, compiler.status)


class Compiler:
    """Answers over one replica."""

    def __init__(self, process: Process, replica: Replica, publisher: Publisher) -> None:
        self._replica = replica
        self._audits = Audits(process.connection, publisher)
        self._connection = process.connection
        self._ask = partial(ask, process.connection)
        self._key = process.settings.fingerprint_key.encode()
        self._after_work = crash_point("compiler.after_work")
        self._after_publish = crash_point("compiler.after_publish")

    async def compile(self, asked: Asked[CompileRequest]) -> ContextPack:
        """The pack, recorded. Raises `NotFound` for a session that the log does not hold."""
        compilation = await self._compiled(asked, await self._routed(asked, asked.request))
        self._after_work()
        await self._audits.record(compilation.audit)
        self._after_publish()
        return compilation.pack

    async def explain(self, asked: Asked[ExplainRequest]) -> ExplainReply:
        """What the compile would do with one item; nothing is recorded. Raises `NotFound` for a
        session or an item that is not there at the sequence read."""
        inner = await self._routed(asked, asked.request.request)
        compilation = await self._compiled(asked, inner)
        item_id, sequence = asked.request.item_id, compilation.pack.sequence
        there = await self._replica.read(
            lambda model: model.view(asked.tenant, asked.session, sequence).by_ids([item_id]),
            short=True,
        )
        if not there:
            raise NotFound(
                f"session {asked.session!r} has no item {item_id!r} at or before sequence "
                f"{sequence}; see its items with `weft events`"
            )
        return _explained(item_id, compilation)

    async def status(self, asked: Asked[StatusRequest]) -> StatusReply:
        """What this replica has folded, of a session or of the tenant."""
        request = asked.request
        session = None if asked.session == TENANT_SESSION else asked.session
        last = await last_sequence(self._connection) if request.newest else 0
        after = max(request.after, last)
        folded = await self._replica.reach(after, self._replica.deadline(request.timeout))
        if request.newest and folded < after:
            raise Unavailable(f"the read model is at {folded}, the log at {after}; try again")
        found = await self._replica.read(
            lambda model: status(model.db, asked.tenant, session, request)
        )
        if request.processes:
            processes = await call_roll(self._connection, asked.tenant)
            found = msgspec.structs.replace(found, processes=processes)
        # Unset where there is nothing to tell: a client of an older release knows no such field.
        return msgspec.structs.replace(found, rebuilt=self._replica.mended() or msgspec.UNSET)

    async def _routed(self, asked: Asked[Any], request: CompileRequest) -> CompileRequest:
        """The request with what the router says of its catalogue: cards to choose from, or the
        chosen tool with the session's values. The past (`as_of`) is compiled from the log alone.

        Raises `NotFound` for an unknown catalogue or tool, `Unavailable` without a router.
        """
        if not request.catalog or request.as_of is not None:
            return request
        tenant, session = asked.tenant, asked.session
        if request.phase is Phase.ROUTE:
            query = request.query or await self._latest_turn(asked, request)
            route = RouteRequest(query, request.catalog)
            reply = await self._ask((tenant, session, "route"), route, RouteReply)
            return msgspec.structs.replace(request, cards=reply.cards)
        if request.phase is Phase.CALL and request.tool:
            hydrate = HydrateRequest(
                request.tool, request.catalog, request.query, request.after, request.timeout
            )
            address = (tenant, session, "hydrate")
            found = await self._ask(address, hydrate, HydrationResult, request.timeout)
            return msgspec.structs.replace(request, hydration=found)
        return request

    async def _latest_turn(self, asked: Asked[Any], request: CompileRequest) -> str:
        """What the user said last, to route by where no query is given; empty where that is too
        sensitive to be shown."""
        await self._replica.reach(request.after, self._replica.deadline(request.timeout))

        def read(model: ReadModel) -> str:
            view = model.view(asked.tenant, asked.session)
            floor = policy_of(model, view, request, asked.principal)[0].sensitivity_floor
            turns = view.of_kind(ItemKind.USER_TURN, 1)
            return "".join(turn.text for turn in turns if not turn.sensitivity.reaches(floor))

        return await self._replica.read(read, short=True)

    async def _compiled(self, asked: Asked[Any], request: CompileRequest) -> Compilation:
        """Waits for what the request waits for, then compiles what is there."""
        base = await self._audits.find(asked.tenant, asked.session, request.stable_from)
        deadline = self._replica.deadline(request.timeout)
        wanted = max(request.after, request.as_of or 0)
        folded = await self._replica.reach(wanted, deadline)
        short = True
        while True:
            late = self._replica.is_late(deadline)

            def work(
                model: ReadModel, late: bool = late, short: bool = short
            ) -> Compilation | _Again:
                return self._attempt(model, asked, request, base, late, short)

            outcome = await self._replica.read(work, short)
            match outcome:
                case _Again.IN_A_THREAD:
                    short = False
                case _Again.WHEN_SETTLED:
                    folded = await self._replica.reach(folded + 1, deadline)
                case _:
                    return outcome

    def _attempt(
        self,
        model: ReadModel,
        asked: Asked[Any],
        request: CompileRequest,
        base: CompileAudit | None,
        late: bool,
        short: bool,
    ) -> Compilation | _Again:
        """The compile, unless items that the request waits for are not settled and there is time
        left, or it would not be `short` work."""
        view = model.view(asked.tenant, asked.session, request.as_of)
        if view.item_count() == 0:
            raise _unknown(asked.session, request, view.sequence, view.erased())
        if request.after and request.as_of is None and not late:
            waiting = any(row.sequence <= request.after for row in view.pending())
            if waiting:
                return _Again.WHEN_SETTLED
        policy, loosened = policy_of(model, view, request, asked.principal)
        if short and budget_of(request, policy) > SHORT_BUDGET:
            return _Again.IN_A_THREAD
        request = within_grants(model, view, request, asked.principal)
        compilation = compile_pack(view, request, key=self._key, base=base)
        compilation = _with_rights(compilation, asked.principal, loosened)
        return _with_unfolded(compilation, request.after)


class Audits:
    """The record of compiles, in a stream of their own."""

    def __init__(self, connection: Connection, publisher: Publisher) -> None:
        self._connection = connection
        self._publisher = publisher
        self._newest: OrderedDict[tuple[str, str, str], CompileAudit] = OrderedDict()

    async def record(self, audit: CompileAudit) -> None:
        """Publish it, and return when it is stored. The same compile again has the same id."""
        subject = audit_subject(audit.tenant, audit.session, "compiled")
        headers = event_headers(audit.id, "weft.compiled", "/weft/compiler")
        await self._publisher.publish(subject, msgspec.json.encode(audit), audit.id, headers)
        self._newest[audit.tenant, audit.session, audit.id] = audit
        if len(self._newest) > KEPT_AUDITS:
            self._newest.popitem(last=False)

    async def find(self, tenant: str, session: str, pack_id: str | None) -> CompileAudit | None:
        """The audit of a pack of this session; None where it is unknown."""
        if pack_id is None:
            return None
        known = self._newest.get((tenant, session, pack_id))
        if known is not None:
            return known
        subject = audit_subject(tenant, session, "compiled")
        records = newest_first(self._connection, subject, stream=AUDIT_STREAM)
        async with aclosing(records):
            async for record in records:
                if record.message_id == pack_id:
                    return _recorded(record.payload)
        return None


def _recorded(payload: bytes) -> CompileAudit | None:
    """None where somebody else put something else there, or a newer release something more."""
    try:
        return msgspec.json.decode(payload, type=CompileAudit)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _unknown(session: str, request: CompileRequest, folded: int, erased: int) -> WeftError:
    if folded < request.after:
        return Unavailable(
            f"session {session!r} is not folded yet: the read model is at {folded}, asked for is "
            f"{request.after}; try again"
        )
    if erased:
        return NotFound(f"session {session!r} was erased by event {erased}; nothing is left")
    return NotFound(
        f"session {session!r} has no item at or before sequence {folded}; check its name, or "
        "publish to it first"
    )


def _with_rights(
    compilation: Compilation, principal: str, loosened: tuple[str, ...]
) -> Compilation:
    """Says in the audit who asked and what was loosened for him."""
    if not principal:
        return compilation
    audit = msgspec.structs.replace(
        compilation.audit, principal=principal, loosened=loosened or msgspec.UNSET
    )
    return msgspec.structs.replace(compilation, audit=audit)


def _with_unfolded(compilation: Compilation, after: int) -> Compilation:
    """Names what the caller waits for and the read model does not hold yet."""
    pack = compilation.pack
    if pack.sequence >= after or compilation.audit.request.as_of is not None:
        return compilation
    reason = f"the read model is at {pack.sequence}"
    pending = (*pack.pending, PendingItem("", after, reason))
    return msgspec.structs.replace(
        compilation,
        pack=msgspec.structs.replace(pack, pending=pending),
        audit=msgspec.structs.replace(compilation.audit, pending=pending),
    )


def _explained(item_id: str, compilation: Compilation) -> ExplainReply:
    """Read from the pack's own stats, so that it cannot say anything else than they do."""
    pack = compilation.pack
    included = candidate = False
    reason, detail = "no candidate", "neither pinned, recent, nor a match for the query"
    entries = {entry.item_id: entry for entry in pack.entries}
    drops = {drop.item_id: drop for drop in pack.stats.dropped_items}
    if item_id in entries:
        entry = entries[item_id]
        included = candidate = True
        reason, detail = "included", f"in section {entry.section}, shown as {entry.view}"
    elif item_id in drops:
        candidate = True
        reason, detail = drops[item_id].reason, drops[item_id].detail
    elif any(item.item_id == item_id for item in pack.pending):
        reason, detail = "pending", "it has no envelope yet"
    score = compilation.scores.get(item_id)
    return ExplainReply(
        item_id=item_id,
        included=included,
        candidate=candidate,
        reason=reason,
        detail=detail,
        scores={} if score is None else {"score": score},
        sequence=pack.sequence,
    )
