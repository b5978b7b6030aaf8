"""One process of a read replica: it answers the compiler's requests and the firewall's drill-downs
over one read model. It joins these services, which do not know of each other.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from functools import partial

from weft.compiler import service as compiler
from weft.compiler.warm_up import rehearse, rehearse_recent
from weft.firewall import service as firewall
from weft.firewall.views.installed import registry
from weft.log.publishing import Publisher
from weft.replica_service.request_group import RequestGroup
from weft.runtime.fork_server import ForkServer
from weft.runtime.pool import Pool
from weft.runtime.process import Process
from weft.runtime.replica import Replica
from weft.runtime.request_server import RequestServer
from weft_schemas.errors import Unavailable

_log = logging.getLogger(__name__)

GROUP = "compiler"
"""The queue group: each request goes to one process of it."""
AUDIT_SECONDS = 3.0
"""Until an audit event without an answer fails its compile."""
COLLECTED = (5_000, 20, 10)
"""Thresholds of the garbage collector. A compile makes thousands of objects and drops them all
without it; with Python's 700 it would run ten times in each, for a twentieth of its time."""


async def service(process: Process, fork_server: ForkServer | None = None) -> None:
    """Run until the process stops, and answer all requests received until then. `fork_server` was
    forked with `warm`."""
    settings = process.settings
    if fork_server is None:
        rehearse(settings.encoding)
        fork_server = ForkServer(partial(warm, settings.encoding))
    async with (
        Replica(settings.data_dir) as replica,
        Pool(fork_server, settings.heavy_processes, settings.heavy_seconds) as pool,
        Publisher(process.connection, timeout=AUDIT_SECONDS) as publisher,
    ):
        await _check(replica)
        await _rehearse_recent(replica)
        request_server = RequestServer(process, GROUP, joins=False)
        await compiler.answer(process, replica, pool, publisher, request_server)
        await firewall.answer(process, replica, pool, publisher, request_server)
        collect_seldom()
        watching = asyncio.create_task(RequestGroup(process, replica, request_server).keep())
        await process.stopping.wait()
        replica.end_waits()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await request_server.drain()


def collect_seldom() -> None:
    """Collect garbage as suits compiles. Modules and encodings loaded so far stay, and collections
    skip them."""
    gc.freeze()
    gc.set_threshold(*COLLECTED)


def warm(encoding: str) -> None:
    """Loads what the processes of the pool need."""
    rehearse(encoding)
    registry()
    gc.set_threshold(*COLLECTED)


async def _check(replica: Replica) -> None:
    """Requests must not be answered from a file that was damaged while nothing ran."""
    try:
        await asyncio.to_thread(replica.check)
    except Unavailable as error:
        _log.info("there is nothing to answer from yet: %s", error)


async def _rehearse_recent(replica: Replica) -> None:
    """An error here would fail a request too, which reports it: the process starts."""
    try:
        await replica.read(rehearse_recent)
    except Unavailable:
        _log.info("there is no read model yet")
    except Exception as error:
        _log.warning("a recent session could not be compiled", exc_info=error)
