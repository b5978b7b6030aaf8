"""What one process of a read replica answers: the compiler's requests and the firewall's
drill-downs, over one view of the read model. It ties services together, so they need not know of
each other.
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
"""When garbage is looked for: a compile makes thousands of objects and drops them all, which takes
no collector; Python's 700 would look ten times in each, a twentieth of its time."""


async def service(process: Process, fork_server: ForkServer | None = None) -> None:
    """Run until the process stops, and answer what was asked until then. `fork_server` was forked
    with `warm`."""
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
        process.started()
        watching = asyncio.create_task(RequestGroup(process, replica, request_server).keep())
        await process.stopping.wait()
        replica.hurry()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await request_server.drain()


def collect_seldom() -> None:
    """Look for garbage as suits compiles. What is there now, modules and encodings, stays: no
    collection needs to walk through it again."""
    gc.freeze()
    gc.set_threshold(*COLLECTED)


def warm(encoding: str) -> None:
    """What the processes of the pool are forked with."""
    rehearse(encoding)
    registry()
    gc.set_threshold(*COLLECTED)


async def _check(replica: Replica) -> None:
    """Nobody is answered from a file that was damaged while nothing ran."""
    try:
        await asyncio.to_thread(replica.check)
    except Unavailable as error:
        _log.warning("there is nothing to answer from yet: %s", error)


async def _rehearse_recent(replica: Replica) -> None:
    """What fails here would fail a request too, and is told to who asks: the process starts."""
    try:
        await replica.read(rehearse_recent)
    except Unavailable:
        _log.info("there is no read model yet")
    except Exception as error:
        _log.warning("a recent session could not be compiled", exc_info=error)
