"""The catalogues of all tenants as routers in memory, kept up to date from the log's catalogue
events.

A new version with few changes is applied item by item; otherwise another router is built beside the
old one, which answers until then.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import ParamSpec, TypeVar

import msgspec

from weft.log.record import LogRecord
from weft.router.catalogue_diff import difference
from weft.router.concepts import Concepts
from weft.router.fusion import Encoder
from weft.router.item_faults import check_catalogue
from weft.router.router import Router
from weft.router.whole_catalogue import Fetch, whole
from weft_schemas.errors import InvalidInput, NotFound, Unavailable, WeftError
from weft_schemas.events import ErasedEvent
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.routing import (
    Catalog,
    HydrateRequest,
    RouteReply,
    RouteRequest,
    SelectableItem,
)
from weft_schemas.subjects import stored_filter

FOLLOWED = stored_filter(session=TENANT_SESSION, direction="out", event="*")
"""Stored subjects of tenants' own events: catalogues, and erasures, which end them."""

_IN_PLACE = 200
"""A version with at most this many changed items is applied at once: 40 ms at 0.2 ms each."""

_CATCH_UP_SECONDS = 5.0
"""How long a request waits for events that are on their way: until a large catalogue is built."""

RecordAt = Callable[[int], Awaitable[LogRecord]]
"""The record of a sequence. Raises `NotFound`."""

NewestOf = Callable[[str], Awaitable[int]]
"""The sequence of a tenant's newest own event, 0 if there is none."""

P = ParamSpec("P")
T = TypeVar("T")

_log = logging.getLogger(__name__)


_KEPT_VERSIONS = 4
"""Older versions of catalogues that are kept once a decision's tools were asked for."""
_SHORT_ROUTE = 4_000_000
"""Up to this many tools times characters of the query are scored in the loop: about 5 ms."""
_MAX_QUERY_LENGTH = 4_000
"""A longer query than this takes no longer: it has all words of the catalogue."""


async def _to_the_end(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of the work in a thread. If this is cancelled, it still waits for the thread:
    nobody else may use the thread's data before it has ended."""
    working = asyncio.create_task(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(working)
    finally:
        while not working.done():
            with suppress(asyncio.CancelledError):  # once more
                await asyncio.wait([working])


class CatalogRouter(msgspec.Struct):
    """One catalogue, ready for queries."""

    version: int
    """Log sequence of its event. It changes with the router's items, under the same lock."""
    router: Router
    asked: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    """Only one task at a time queries or changes a router."""

    async def route(
        self, request: RouteRequest, query: str, turn: AbstractAsyncContextManager[None]
    ) -> RouteReply:
        """The cards, and the version that they are from. A long query over many tools, up to 60 ms,
        is left to a thread; within `turn` the loop is blocked for some milliseconds."""
        async with self.asked:
            if len(self.router.items) * min(len(query), _MAX_QUERY_LENGTH) > _SHORT_ROUTE:
                reply = await _to_the_end(self.router.answer, request, query)
            else:
                async with turn:
                    reply = self.router.answer(request, query)
            return msgspec.structs.replace(reply, catalog_version=self.version)

    async def update(self, version: int, catalog: Catalog) -> None:
        """Become another version of the catalogue."""
        async with self.asked:
            self.router.update(catalog.items)
            self.version = version


class CatalogRouters:
    """Newest version per tenant and name."""

    def __init__(
        self,
        fetch: Fetch,
        encoding: str,
        encoder: Encoder | None = None,
        newest_of: NewestOf | None = None,
        concepts: Concepts | None = None,
        record_at: RecordAt | None = None,
    ) -> None:
        """`newest_of` is asked before something counts as missing; without it, everything in the
        log was taken. `record_at` reads versions that are not the newest any more."""
        self._record_at = record_at
        self._older: OrderedDict[tuple[str, str, int], Catalog] = OrderedDict()
        self._reading = asyncio.Lock()
        self._concepts = concepts
        self._newest_of = newest_of
        self._taken = 0
        self._fetch = fetch
        self._encoding = encoding
        self._encoder = encoder
        self._held: dict[tuple[str, str], CatalogRouter] = {}
        self._changed = asyncio.Event()

    async def take_so_far(self, records: Sequence[LogRecord]) -> None:
        """Of each catalogue, take the newest version that can be used: one that is refused stays
        refused when a router starts anew, and what was used before it is still there."""
        for versions in _newest_first(records):
            for record in versions:
                if await self.take(record):
                    break
        self.reached(records[-1].sequence if records else 0)

    async def take(self, record: LogRecord) -> bool:
        """Process a record, and return whether it can be used. One that is not a valid catalogue
        is logged and skipped; the previous version stays."""
        is_usable = False
        try:
            event, tenant = record.event(), record.address().tenant
            if isinstance(event, Catalog):
                await self._learn(tenant, record.sequence, event)
            elif isinstance(event, ErasedEvent) and event.session is None:
                self._held = {key: held for key, held in self._held.items() if key[0] != tenant}
                self._older.clear()
            is_usable = True
        except WeftError as error:
            _log.warning("catalogue %d cannot be used: %s", record.sequence, error)
        self.reached(record.sequence)
        return is_usable

    def reached(self, sequence: int) -> None:
        """Note that all events at or before a sequence were taken."""
        self._taken = max(self._taken, sequence)
        self._changed.set()

    async def current(self, tenant: str, name: str, sequence: int = 0) -> CatalogRouter:
        """The newest version, of those at or before a sequence at least.

        Catalogues come from a consumer of their own, so one that was just published may be on its
        way. One request to the stream's leader, .3 ms, tells whether it is; it is made only if the
        catalogue is unknown or the sequence was not reached.

        Raises `NotFound`, and `Unavailable` if what is on its way does not come in time.
        """
        is_complete = True
        if (tenant, name) not in self._held or sequence > self._taken:
            is_complete = await self._catch_up(tenant)
        found = self._held.get((tenant, name))
        if found is not None:
            return found
        if not is_complete:
            raise Unavailable(f"catalogue {name!r} may be among those still being read; try again")
        raise _missing(name, None, 0)

    async def items(self, tenant: str, request: HydrateRequest) -> dict[str, SelectableItem]:
        """The items by id, of the version that the request names or of the newest.

        Raises the same as `current`, and `NotFound` for a version that is not in the log any more.
        """
        name, version = request.catalog, request.catalog_version
        wanted = 0 if isinstance(version, msgspec.UnsetType) else version
        held = await self.current(tenant, name, max(request.after, wanted))
        if wanted in (0, held.version):
            return held.router.items
        key = (tenant, name, wanted)
        async with self._reading:  # a decision's tools are asked for at once
            if key not in self._older:
                self._older[key] = await self._version(tenant, name, wanted)
            catalog = self._older[key]
            self._older.move_to_end(key)
            if len(self._older) > _KEPT_VERSIONS:
                self._older.popitem(last=False)
        return {item.id: item for item in catalog.items}

    async def _version(self, tenant: str, name: str, version: int) -> Catalog:
        try:
            if self._record_at is None:
                raise NotFound("no log to read")
            record = await self._record_at(version)
            event = record.event()
            place = record.address().tenant, getattr(event, "name", "")
            if isinstance(event, Catalog) and place == (tenant, name):
                return await whole(event, tenant, self._fetch)
        except (NotFound, InvalidInput):
            pass
        raise NotFound(
            f"version {version} of catalogue {name!r} is not in the log any more; route again"
        )

    async def _catch_up(self, tenant: str) -> bool:
        """Whether all events that the tenant has now were taken within `_CATCH_UP_SECONDS`."""
        if self._newest_of is None:
            return True
        last = await self._newest_of(tenant)
        with suppress(TimeoutError):
            async with asyncio.timeout(_CATCH_UP_SECONDS):
                while self._taken < last:
                    self._changed.clear()
                    await self._changed.wait()
        return self._taken >= last

    async def held(self, tenant: str, name: str, after: int, timeout: float) -> CatalogRouter:
        """The newest version, of sequence `after` or later; waits for it up to `timeout` seconds.

        Raises `NotFound`, also if only an older version has arrived.
        """
        if not after:
            return await self.current(tenant, name)
        clock = asyncio.get_running_loop().time
        deadline = clock() + timeout
        while True:
            found = self._held.get((tenant, name))
            if found is not None and found.version >= after:
                return found
            if clock() >= deadline:
                raise _missing(name, found, after)
            self._changed.clear()
            try:
                async with asyncio.timeout(deadline - clock()):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def _learn(self, tenant: str, sequence: int, catalog: Catalog) -> None:
        key = (tenant, catalog.name)
        known = self._held.get(key)
        if known is not None and known.version >= sequence:
            return
        catalog = check_catalogue(await whole(catalog, tenant, self._fetch))
        if known is not None and _is_small(known.router, catalog):
            await known.update(sequence, catalog)
        else:
            router = await asyncio.to_thread(self._built, catalog)
            self._held[key] = CatalogRouter(sequence, router)

    def _built(self, catalog: Catalog) -> Router:
        return Router(
            catalog.items,
            encoder=self._encoder,
            encoding=self._encoding,
            concepts=self._concepts,
        )


def _newest_first(records: Iterable[LogRecord]) -> list[list[LogRecord]]:
    """The versions of each tenant's catalogues, the newest first; none from before the tenant was
    erased."""
    found: dict[tuple[str, str], list[LogRecord]] = {}
    for record in records:
        try:
            event, tenant = record.event(), record.address().tenant
        except InvalidInput as error:
            _log.warning("event %d is malformed: %s", record.sequence, error.code)
            continue
        if isinstance(event, Catalog):
            found.setdefault((tenant, event.name), []).insert(0, record)
        elif isinstance(event, ErasedEvent) and event.session is None:
            found = {key: versions for key, versions in found.items() if key[0] != tenant}
    return list(found.values())


def _is_small(router: Router, catalog: Catalog) -> bool:
    changes = difference(router.items.values(), catalog.items)
    moved = len(changes.added) + len(changes.removed) + len(changes.changed)
    return moved <= min(_IN_PLACE, len(router.items) // 4)


def _missing(name: str, found: CatalogRouter | None, after: int) -> NotFound:
    if found is None:
        return NotFound(
            f"catalogue {name!r} is not in the log; publish it: weft catalog publish FILE "
            f"--name {name}"
        )
    return NotFound(
        f"catalogue {name!r} is known at version {found.version}, asked for is {after}; look at "
        "the router's log for why the newer one was refused"
    )
