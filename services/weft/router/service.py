"""The router as a service: holds the catalogues of the log and answers `route`, `hydrate` and
`choose`. Every decision is recorded before it is returned, and every choice when it is made.

The session's earlier use of tools and its values are read from the replica of its data folder;
without a replica, routing uses only the query. These reads stay in the event loop, unlike other
reads outside a compile: each is a few statements within a request that an agent's next step waits
for, and longer ones go to the pool.
"""

from __future__ import annotations

import asyncio
import gc
import secrets
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from weft import tokens
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.following import Follower
from weft.log.message import event_headers
from weft.log.publishing import Publisher
from weft.log.reading import last_of, read, read_matching
from weft.log.stream_identity import identify
from weft.log.timeouts import cancelled
from weft.readmodel.model import ReadModel
from weft.router.catalog_routers import FOLLOWED, CatalogRouter, CatalogRouters
from weft.router.concepts import concepts_in
from weft.router.fusion import encoder_named
from weft.router.hydration import hydrate
from weft.router.query_transform import Transformer, configured, identity
from weft.router.router import SCORER_VERSION
from weft.router.session_signals import SessionSignals, signals_of, with_signals
from weft.runtime.fork_server import ForkServer
from weft.runtime.pool import Pool
from weft.runtime.process import Process
from weft.runtime.replica import Replica, pool_work
from weft.runtime.request_server import RequestServer
from weft.runtime.requests import ReceivedRequest
from weft.secrets.deployment_rules import DeploymentRules, deployment_rules
from weft.secrets.scanning import as_shown
from weft_schemas.errors import NotFound, Unavailable
from weft_schemas.ids import TENANT_SESSION, SessionName
from weft_schemas.items import BodyRef
from weft_schemas.routing import (
    ChoiceAudit,
    ChoiceReply,
    ChoiceRequest,
    HydrateRequest,
    HydrationResult,
    RouteAudit,
    RouteReply,
    RouteRequest,
    SelectableItem,
    check_unambiguous,
)
from weft_schemas.subjects import STREAM, audit_subject, stored_filter

GROUP = "router"
"""The queue group: each request goes to one router."""
AUDIT_SECONDS = 3.0
"""How long an audit event may remain unanswered before its request fails."""
_LOOKED_BACK = 400
"""How many of a session's newest items tell about earlier uses and values."""
_POLL_SECONDS = 0.02
"""Pause between two checks whether the items that a hydration waits for are settled."""
_SHORT_HYDRATION = 40
"""Up to this many passages of these items are searched for values here: 3 to 8 ms. More are
searched in a process, such as 400 items of 20 KB, which take a second."""
_SHORT_LOOK = 800
"""Up to this many passages of these items are read here to find the tools used: 2 to 5 ms."""

T = TypeVar("T")


async def service(process: Process, fork_server: ForkServer | None = None) -> None:
    """Run until the process is stopped. `fork_server` was forked with `warm`."""
    settings = process.settings
    fork_server = fork_server or ForkServer(partial(warm, settings.encoding))
    tokens.counter(settings.encoding)  # loaded here, not with the first request
    transformer = configured(
        settings.router_transformer,
        settings.router_url or "",
        settings.router_model or "",
        settings.router_api_key or "",
    )
    encoder = encoder_named(settings.router_encoder) if settings.router_encoder else None
    concepts = concepts_in(settings.router_concepts)
    async with (
        Replica(settings.data_dir) as replica,
        Pool(fork_server, settings.heavy_processes, settings.heavy_seconds) as pool,
        Publisher(process.connection, timeout=AUDIT_SECONDS) as publisher,
    ):

        def fetch(tenant: str, body: BodyRef) -> Awaitable[bytes]:
            return Bodies(process.connection, publisher, tenant).get(body)

        async def newest_of(tenant: str) -> int:
            return await _newest_own(process.connection, tenant)

        catalogues = CatalogRouters(
            fetch,
            settings.encoding,
            encoder,
            newest_of,
            concepts,
            record_at=partial(read, process.connection),
        )
        known = await identify(process.connection)
        through = await _read_so_far(process.connection, catalogues)
        async with Follower(
            process.connection, after=through, known=known, subjects=FOLLOWED
        ) as follower:
            following = asyncio.create_task(_follow(follower, catalogues))
            routing = Routing(catalogues, replica, pool, publisher, transformer, settings.data_dir)
            request_server = RequestServer(process, GROUP)
            await request_server.answer("route", RouteRequest, routing.route)
            await request_server.answer("hydrate", HydrateRequest, routing.hydrate)
            await request_server.answer("choose", ChoiceRequest, routing.choose)
            gc.freeze()  # catalogues and encodings stay: no collection needs to walk them
            process.started()
            await _until_stopped(process, following)
            await request_server.drain()
            follower.stop()
            await cancelled(following)


async def _read_so_far(connection: Connection, catalogues: CatalogRouters) -> int:
    """Take every catalogue in the log, and return the sequence read to."""
    records = [record async for record in read_matching(connection, FOLLOWED)]
    await catalogues.take_so_far(records)
    return records[-1].sequence if records else 0


async def _until_stopped(process: Process, following: asyncio.Task[None]) -> None:
    """Wait until the process is told to stop. Raises what ends the following before that."""
    stopping = asyncio.create_task(process.stopping.wait())
    try:
        await asyncio.wait([following, stopping], return_when=asyncio.FIRST_COMPLETED)
        if following.done() and not process.stopping.is_set():
            following.result()
    finally:
        await cancelled(stopping)


async def _newest_own(connection: Connection, tenant: str) -> int:
    """The sequence of a tenant's newest own event, by the stream's leader; 0 if there is none."""
    subjects = stored_filter(tenant, TENANT_SESSION, "out", "*")
    try:
        return (await last_of(connection, subjects, STREAM)).sequence
    except NotFound:
        return 0


def warm(encoding: str) -> None:
    """Load the encoding before the pool's processes are forked."""
    tokens.counter(encoding)


class _Postponed(Enum):
    """Why something was not done here and now."""

    UNSETTLED = "what it waits for is not folded"
    ISOLATED = "it is short, but for a process of the pool, as its tenant's other work"
    LONG = "it is for a process of the pool"


class HydrationJob(msgspec.Struct, frozen=True):
    """A hydration to be done."""

    tenant: str
    session: str
    tool: SelectableItem
    request: HydrateRequest


class Routing:
    """Answers from catalogues and a replica."""

    def __init__(
        self,
        catalogues: CatalogRouters,
        replica: Replica,
        pool: Pool,
        publisher: Publisher,
        transformer: Transformer,
        data_dir: Path,
    ) -> None:
        self._catalogues = catalogues
        self._replica = replica
        self._pool = pool
        self._data_dir = data_dir
        self._publisher = publisher
        self._transformer = transformer

    async def route(self, asked: ReceivedRequest[RouteRequest]) -> RouteReply:
        """The cards, recorded as a decision. Raises `NotFound` for an unknown catalogue."""
        request = asked.request
        held = await self._catalogues.held(
            asked.tenant, request.catalog, request.after, asked.within(request.timeout)
        )
        query = await self._routing_query(asked)
        request = await self._experienced(asked, held)
        routed = await held.route(request, query, self._replica.turn(asked.tenant))
        reply = msgspec.structs.replace(routed, id=secrets.token_hex(8))
        await self._record("routed", _audit(asked, request, reply), reply.id)
        return reply

    async def hydrate(
        self, asked: ReceivedRequest[HydrateRequest]
    ) -> HydrationResult | msgspec.Raw:
        """The tool and the session's values for it. Raises `NotFound` for an unknown catalogue,
        version or tool, `InvalidInput` for a name that several tools have, `Unavailable` without a
        replica."""
        request = asked.request
        items = await self._catalogues.items(asked.tenant, request)
        wanted = HydrationJob(asked.tenant, asked.session, tool_named(items, request), request)
        deadline = self._replica.deadline(asked.within(request.timeout))
        await self._replica.reach(request.after, deadline)
        while True:
            is_late = self._replica.is_late(deadline)
            found = await self._replica.read_here(
                asked.tenant, partial(self._here, wanted, is_late)
            )
            if isinstance(found, HydrationResult):
                return found
            if found is not _Postponed.UNSETTLED:
                work = pool_work(self._data_dir, encoded_hydration, wanted)
                return msgspec.Raw(await self._in_pool(asked, work, found))
            await asyncio.sleep(_POLL_SECONDS)

    def _here(
        self, wanted: HydrationJob, is_late: bool, model: ReadModel
    ) -> HydrationResult | _Postponed:
        view = model.view(wanted.tenant, wanted.session)
        after = wanted.request.after
        if not is_late and any(row.sequence <= after for row in view.pending()):
            return _Postponed.UNSETTLED
        is_short = view.has_few_passages(_LOOKED_BACK, _SHORT_HYDRATION)
        is_crowding = self._replica.is_crowding(wanted.tenant)
        if not is_short:
            return _Postponed.LONG
        if self._pool.is_isolated(wanted.tenant, is_crowding):
            return _Postponed.ISOLATED
        with self._pool.watched(wanted.tenant):
            return hydration(model, wanted)

    async def choose(self, asked: ReceivedRequest[ChoiceRequest]) -> ChoiceReply:
        """Record which tool was chosen."""
        request = asked.request
        audit = ChoiceAudit(asked.tenant, asked.session, request.decision, request.item)
        return ChoiceReply(await self._record("chosen", audit, f"{request.decision}-choice"))

    async def _routing_query(self, asked: ReceivedRequest[RouteRequest]) -> str:
        """The query as reworded by the transformer, which may be a model: the policy's secrets are
        masked first, and nothing is passed to it if no policy can be read."""
        query, place = asked.request.query, SessionName(asked.tenant, asked.session)
        if self._transformer is identity:
            return query
        try:
            own = await self._replica.read_here(asked.tenant, partial(_own_secrets, place))
        except Unavailable:
            return query
        return await asyncio.to_thread(self._transformer, as_shown(query, own))

    async def _experienced(
        self, asked: ReceivedRequest[RouteRequest], held: CatalogRouter
    ) -> RouteRequest:
        if asked.session == TENANT_SESSION:
            return asked.request
        place = SessionName(asked.tenant, asked.session)
        try:
            known = await self._replica.read_here(asked.tenant, partial(self._known, place))
            if isinstance(known, _Postponed):
                work = pool_work(self._data_dir, session_signals, place)
                known = await self._in_pool(asked, work, known)
        except Unavailable:
            return asked.request
        return with_signals(asked.request, known, held.router.ids_named)

    async def _in_pool(
        self, asked: ReceivedRequest[Any], work: Callable[[], T], why: _Postponed
    ) -> T:
        if why is _Postponed.ISOLATED:
            done = await self._pool.run_short(asked.tenant, asked.session, work)
            if done is not None:
                return done
        return await self._pool.run(asked.tenant, asked.session, work)

    def _known(self, place: SessionName, model: ReadModel) -> SessionSignals | _Postponed:
        view = model.view(place.tenant, place.session)
        is_short = view.has_few_passages(_LOOKED_BACK, _SHORT_LOOK)
        if not is_short:
            return _Postponed.LONG
        if self._pool.is_isolated(place.tenant):
            return _Postponed.ISOLATED
        with self._pool.watched(place.tenant):
            return session_signals(model, place)

    async def _record(self, event: str, audit: RouteAudit | ChoiceAudit, message_id: str) -> int:
        subject = audit_subject(audit.tenant, audit.session, event)
        headers = event_headers(message_id, f"weft.{event}", "/weft/router")
        payload = msgspec.json.encode(audit, order="deterministic")
        ack = await self._publisher.publish(subject, payload, message_id, headers)
        return ack.sequence


def _own_secrets(place: SessionName, model: ReadModel) -> DeploymentRules:
    return deployment_rules(model.view(place.tenant, place.session).policy()[1].firewall)


async def _follow(follower: Follower, catalogues: CatalogRouters) -> None:
    async for followed in follower:
        for record in followed.records:
            await catalogues.take(record)


def hydration(model: ReadModel, wanted: HydrationJob) -> HydrationResult:
    """The session's values for a tool, from its newest items."""
    view = model.view(wanted.tenant, wanted.session)
    floor = view.policy()[1].sensitivity_floor
    rows = view.recent(_LOOKED_BACK)[::-1]
    return hydrate(wanted.tool, rows, wanted.request.query, view.sequence, floor)


def encoded_hydration(model: ReadModel, wanted: HydrationJob) -> bytes:
    """The same as JSON, as another process returns it."""
    return msgspec.json.encode(hydration(model, wanted))


def session_signals(model: ReadModel, place: SessionName) -> SessionSignals:
    """What a session tells a router."""
    view = model.view(place.tenant, place.session)
    return signals_of(view.recent(_LOOKED_BACK)[::-1])


def tool_named(items: Mapping[str, SelectableItem], request: HydrateRequest) -> SelectableItem:
    """The tool of an id, or else of a name, among `items` by id. Raises `NotFound`, and
    `InvalidInput` for a name that several have."""
    if (found := items.get(request.tool)) is not None:
        return found
    named = [item for item in items.values() if item.name == request.tool]
    if not named:
        raise NotFound(
            f"tool {request.tool[:80]!r} is not in catalogue {request.catalog!r}; give the id of "
            "a card"
        )
    check_unambiguous(request.tool, [item.id for item in named])
    return named[0]


def _audit(
    asked: ReceivedRequest[RouteRequest], request: RouteRequest, reply: RouteReply
) -> RouteAudit:
    return RouteAudit(
        id=reply.id,
        tenant=asked.tenant,
        session=asked.session,
        request=request,
        query=reply.query,
        catalog_version=reply.catalog_version,
        shown=tuple(card.id for card in reply.cards),
        scores=tuple(card.score for card in reply.cards),
        abstain=reply.abstain,
        ambiguous=reply.ambiguous,
        scorer_version=SCORER_VERSION,
    )
