"""What `weft up` runs on one machine: an embedded server (unless another one is given), the streams
and consumers of the log, and supervised processes for all services."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import IO, cast

import msgspec
from msgspec.structs import replace

from weft.log.secret_check import UNMARKED, DeploymentSecret, check_log, is_marked
from weft.log.timeouts import cancelled
from weft.log.topology import Durability, LogLimits, TopologyChange, provision
from weft.log.transport import connect
from weft.runtime.deployment import kept_secret, made_secret, private
from weft.runtime.settings import Settings, secret_is_given
from weft.supervision.embedded_cluster import EmbeddedCluster
from weft.supervision.embedded_server import EmbeddedServer
from weft.supervision.lost_log import check_restored, why_a_log_is_expected
from weft.supervision.own_events_renewal import renew_or_warn, renewing
from weft.supervision.preloaded import PreloadedProcess
from weft.supervision.supervisor import Supervisor, work_children
from weft_schemas.errors import WeftError

_log = logging.getLogger(__name__)

SERVER_POLL_SECONDS = 0.5
ROOM_BYTES = 16 * 1024 * 1024
"""With this much free space, a full disk counts as usable again: two of the server's blocks."""
ROOM_PAUSE_SECONDS = 10.0
"""Seconds between two such restarts, in case the cause is something other than disk space."""

REPLICA = {"indexer": 1, "compiler": 1}
"""One read replica: its indexer and its compilers on one data folder."""
EVERYTHING = {"firewall": 1, "summarizer": 1, "memory": 1, **REPLICA, "router": 1}
"""Service → processes that `weft up` starts."""


class Up(msgspec.Struct, frozen=True):
    """The running deployment."""

    settings: Settings
    """With the address of the server in use."""
    supervisor: Supervisor
    server: EmbeddedServer | None
    """None if the server ran before, or is a cluster."""
    cluster: EmbeddedCluster | None = None


@contextlib.asynccontextmanager
async def running(
    settings: Settings,
    counts: Mapping[str, int] = EVERYTHING,
    *,
    embedded: bool = True,
    clustered: bool = False,
    port: int = 0,
    log_file: IO[bytes] | None = None,
    preloaded: PreloadedProcess | None = None,
) -> AsyncIterator[Up]:
    """Start everything; at the end stop the workers, which drain first, and then the server.

    If `embedded` is false, use the server at `settings.nats_url`. `clustered` starts three servers
    as one cluster, on free ports, with durability `cluster`. The services are forked from
    `preloaded` if it is given. Raises `Unavailable` and `ConfigurationError` if the server or the
    log cannot be used.
    """
    private(settings.data_dir)
    async with contextlib.AsyncExitStack() as stack:
        server = cluster = None
        if clustered:
            cluster = await stack.enter_async_context(
                EmbeddedCluster(settings.data_dir / "cluster")
            )
            settings = replace(settings, nats_url=cluster.url, durability="cluster")
        elif embedded:
            server = await stack.enter_async_context(_embedded_server(settings, port))
            settings = replace(settings, nats_url=server.url)
        nodes = cluster.nodes if cluster else [server] if server else []
        await _check_restored(settings, nodes)
        for node in nodes:
            keeper = asyncio.create_task(_keep_alive(node))
            stack.push_async_callback(cancelled, keeper)
        is_own = clustered or embedded
        settings = await _with_secret(settings)
        await provision_log(settings, is_own=is_own)
        await stack.enter_async_context(renewing(settings))
        children = work_children(counts, _worker_environment(settings))
        supervisor = Supervisor(children, log_file, preloaded)
        await stack.enter_async_context(supervisor)
        yield Up(settings, supervisor, server, cluster)


def _embedded_server(settings: Settings, port: int) -> EmbeddedServer:
    durability = cast(Durability, settings.durability)
    return EmbeddedServer(settings.data_dir / "nats", port, durability)


def _worker_environment(settings: Settings) -> dict[str, str]:
    """What the services are told of the settings."""
    return {
        "WEFT_NATS_URL": settings.nats_url,
        "WEFT_DATA_DIR": str(settings.data_dir.resolve()),
        "WEFT_ENCODING": settings.encoding,
        "WEFT_FINGERPRINT_KEY": settings.fingerprint_key,
    }


class Provisioned(msgspec.Struct, frozen=True):
    """The log has what this release needs."""

    changes: list[TopologyChange]
    is_marked: bool
    """Whether processes with another secret are refused."""


async def provision_log(
    settings: Settings, *, new_secret: bool = False, is_own: bool = False
) -> Provisioned:
    """Create or update the streams and consumers that this release needs, and publish again what of
    tenants' policies, grants, catalogues and tombstones would leave the log by age. `is_own` says
    that the log lies in the same data folder as its secret.

    Raises `ConfigurationError` if the log belongs to a deployment with another secret, unless that
    was replaced by a `new_secret`, and if the data folder's read model is of a log and the server
    has none: an empty one would take its place.
    """
    expected = await why_a_log_is_expected(settings.data_dir)
    limits = LogLimits(max_bytes=settings.max_bytes or -1, max_age=settings.max_age_seconds)
    connection = await connect(name="weft-provision", **settings.connection())
    try:
        durability = cast(Durability, settings.durability)
        is_given = is_own or secret_is_given()
        secret = DeploymentSecret(settings.fingerprint_key, is_given, new_secret)
        changes = await provision(connection, durability, limits, secret, expected)
        marked = await is_marked(connection)
        await renew_or_warn(connection, settings.data_dir)
    finally:
        await connection.close()
    for change in changes:
        _log.info("log: %s", change)
    if not marked:
        _log.warning(UNMARKED)
    return Provisioned(changes, marked)


async def _check_restored(settings: Settings, nodes: Sequence[EmbeddedServer]) -> None:
    connection = await connect(name="weft-up", **settings.connection())
    try:
        await check_restored(connection, nodes)
    finally:
        await connection.close()


async def _with_secret(settings: Settings) -> Settings:
    """The settings with the data folder's secret. If there is none, it is made now, unless the log
    has one already: a second one would be found here instead of the lost one."""
    if settings.fingerprint_key:
        return settings
    if not kept_secret(settings.data_dir):
        connection = await connect(name="weft-up", **settings.connection())
        try:
            await check_log(connection, "")
        finally:
            await connection.close()
    return replace(settings, fingerprint_key=made_secret(settings.data_dir))


async def _keep_alive(server: EmbeddedServer) -> None:
    """Start the embedded server again if it died, or if it refuses writes after a full disk
    although there is room again. The clients reconnect to the same port."""
    while True:
        await asyncio.sleep(SERVER_POLL_SECONDS)
        if server.pid is None:
            _log.warning("the nats-server ended; it is started again")
            await _restart(server)
        elif server.ran_out_of_space() and server.free_bytes() > ROOM_BYTES:
            _log.warning("the nats-server's disk was full and has room; it is started again")
            await _restart(server)
            await asyncio.sleep(ROOM_PAUSE_SECONDS)


async def _restart(server: EmbeddedServer) -> None:
    try:
        await server.restart()
    except (WeftError, OSError) as error:  # for example no room for its configuration
        _log.error("nats-server: %s", error)
