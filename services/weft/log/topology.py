"""Streams and consumers that must exist on the server, as values: desired, compared with the actual
ones, and applied. A change that would lose events, or store new ones differently, is refused."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Literal

import msgspec

from weft.log.api import call, config_of
from weft.log.connection import Connection
from weft.log.secret_check import METADATA, DeploymentSecret, mark_for
from weft_schemas.errors import ConfigurationError, NotFound, Unavailable
from weft_schemas.subjects import (
    AUDIT_STREAM,
    AUDIT_SUBJECTS,
    BODIES_BUCKET,
    PUBLISHED,
    STORED,
    STREAM,
    TRANSFORM_DESTINATION,
)

BODIES_STREAM = f"OBJ_{BODIES_BUCKET}"
SNAPSHOTS_BUCKET = "weft_snapshots"
SNAPSHOTS_STREAM = f"OBJ_{SNAPSHOTS_BUCKET}"
SECOND = 1_000_000_000
DUPLICATE_WINDOW = 120 * SECOND
ELECTION_SECONDS = 60.0
"""Three nodes that start on existing data took 8 s here, with little else to do."""
ACK_WAIT = 10 * SECOND
"""Deliveries of a killed process are redelivered to others after this long. A living process
extends its own well before (see `consuming.EXTEND_SECONDS`)."""
MAX_ACK_PENDING = 4_096
"""Delivered but not yet acknowledged, over all processes of a worker: bounds the work that a crash
makes the others repeat."""
WORKERS = {"firewall": "w.in.>", "summarizer": STORED, "memory": STORED}
"""Durable consumer → its filter."""

Config = dict[str, Any]

Durability = Literal["process", "power", "cluster"]
"""`process`: acknowledged events survive kill -9 of the server, which syncs to disk on its own
schedule. `power`: synced to disk before the acknowledgement. `cluster`: three replicas, synced.
The syncing is the server's configuration (`sync_interval: always`), not the stream's."""


class LogLimits(msgspec.Struct, frozen=True):
    """Limits of the log; at a limit it refuses new events and keeps the old."""

    max_bytes: int = -1
    """Bytes of the log, -1 for no limit."""
    max_age: float = 0.0
    """Seconds, 0 for ever."""
    max_messages: int = -1


UNLIMITED = LogLimits()
NO_SECRET = DeploymentSecret()


class Topology(msgspec.Struct, frozen=True):
    """Stream → configuration, and the log's durable consumer → configuration, as in the API."""

    streams: dict[str, Config]
    consumers: dict[str, Config]


class TopologyChange(msgspec.Struct, frozen=True):
    """One difference between desired and actual."""

    action: Literal["create", "update", "refuse"]
    target: str
    """`stream weft` or `consumer weft/firewall`."""
    field: str = ""
    have: Any = None
    want: Any = None

    def __str__(self) -> str:
        if self.action == "create":
            return f"create {self.target}"
        return f"{self.target}: {self.field} is {self.have!r}, wanted {self.want!r}"


def desired(
    durability: Durability = "process",
    limits: LogLimits = UNLIMITED,
    server: tuple[int, int] = (2, 14),
) -> Topology:
    """Everything that this release needs, for a server of version `(major, minor)`."""
    common: Config = {
        "storage": "file",
        "retention": "limits",
        "num_replicas": 3 if durability == "cluster" else 1,
        "allow_direct": True,
        "metadata": {"weft.durability": durability},
    }
    since = {"allow_atomic": (2, 12), "allow_batched": (2, 14)}
    batches: Config = {option: True for option, version in since.items() if server >= version}
    configs: list[Config] = [
        {**_log(limits), **common, **batches},
        {**_AUDIT, **common, **batches},
        *({**_bucket(name), **common} for name in (BODIES_BUCKET, SNAPSHOTS_BUCKET)),
    ]
    streams = {config["name"]: config for config in configs}
    consumers = {name: worker_consumer(name, subjects) for name, subjects in WORKERS.items()}
    return Topology(streams, consumers)


def _log(limits: LogLimits) -> Config:
    max_age = int(limits.max_age * SECOND)
    return {
        "name": STREAM,
        "subjects": [PUBLISHED],
        "subject_transform": {"src": PUBLISHED, "dest": TRANSFORM_DESTINATION},
        "discard": "new",
        # The server refuses a longer one than the age limit.
        "duplicate_window": min(DUPLICATE_WINDOW, max_age or DUPLICATE_WINDOW),
        "max_bytes": limits.max_bytes,
        "max_msgs": limits.max_messages,
        "max_age": max_age,
    }


_AUDIT: Config = {
    "name": AUDIT_STREAM,
    "subjects": [AUDIT_SUBJECTS],
    "discard": "new",
    "duplicate_window": DUPLICATE_WINDOW,
}


def _bucket(name: str) -> Config:
    """The stream of an object store."""
    return {
        "name": f"OBJ_{name}",
        "subjects": [f"$O.{name}.C.>", f"$O.{name}.M.>"],
        "discard": "new",
        "allow_rollup_hdrs": True,
    }


def diff(wanted: Topology, actual: Topology) -> list[TopologyChange]:
    """The changes to make to `actual`, in order; fields that only `actual` has are ignored."""
    changes: list[TopologyChange] = []
    for name, config in wanted.streams.items():
        changes += _compare(f"stream {name}", config, actual.streams.get(name), _stream_action)
    for name, config in wanted.consumers.items():
        have = actual.consumers.get(name)
        changes += _compare(f"consumer {STREAM}/{name}", config, have, _consumer_action)
    return changes


async def actual(connection: Connection, wanted: Topology) -> Topology:
    """The server's versions of the streams and consumers in `wanted`."""
    found = {name: await config_of(connection, name) for name in wanted.streams}
    streams = {name: config for name, config in found.items() if config}
    consumers: dict[str, Config] = {}
    for name in wanted.consumers:
        with suppress(NotFound):
            info = await call(connection, f"CONSUMER.INFO.{STREAM}.{name}")
            consumers[name] = info["config"]
    return Topology(streams, consumers)


async def apply(
    connection: Connection, wanted: Topology, expected: str = ""
) -> list[TopologyChange]:
    """Bring the server to the wanted state; idempotent. Returns the changes made.

    Raises `ConfigurationError`, before changing anything, if a change would lose events, or if
    there is no log although one is `expected`, for the reason given.
    """
    have = await actual(connection, wanted)
    if expected and STREAM not in have.streams:
        raise ConfigurationError(expected)
    changes = diff(wanted, have)
    refused = [str(change) for change in changes if change.action == "refuse"]
    if refused:
        raise ConfigurationError(
            "the server holds a log that this configuration does not fit: "
            + "; ".join(refused)
            + ". Change the settings to match it, or move the events to a new stream"
        )
    for target in dict.fromkeys(change.target for change in changes):
        await _make(connection, target, wanted, have)
    return changes


async def provision(
    connection: Connection,
    durability: Durability = "process",
    limits: LogLimits = UNLIMITED,
    secret: DeploymentSecret = NO_SECRET,
    expected: str = "",
) -> list[TopologyChange]:
    """`apply` this release's `desired` for the server's version. `expected` says why there must be
    a log already; then none is made.

    Marks the log with the check value of `secret` if that is known to be the log's (`mark_for`);
    raises `ConfigurationError` if the log is marked with another one. Waits until a cluster that is
    starting has elected its leaders; raises `Unavailable` if that takes longer than
    `ELECTION_SECONDS`.
    """
    version = connection.connected_server_version
    wanted = desired(durability, limits, (version.major, version.minor))
    deadline = asyncio.get_running_loop().time() + ELECTION_SECONDS
    while True:
        try:
            mark = await mark_for(connection, secret)
            return await apply(connection, _marked(wanted, mark), expected)
        except Unavailable:
            if asyncio.get_running_loop().time() > deadline:
                raise
            await asyncio.sleep(0.2)


def _marked(wanted: Topology, mark: str) -> Topology:
    if not mark:
        return wanted
    log = wanted.streams[STREAM]
    log = {**log, "metadata": {**log["metadata"], METADATA: mark}}
    return msgspec.structs.replace(wanted, streams={**wanted.streams, STREAM: log})


async def _make(connection: Connection, target: str, wanted: Topology, have: Topology) -> None:
    kind, name = target.split(" ")
    if kind == "stream":
        # Read anew: what somebody wrote since they were compared, such as the mark of a trimming,
        # would be lost. The server has no update that depends on what is there.
        known = await config_of(connection, name) or {}
        verb = "UPDATE" if known else "CREATE"
        await call(connection, f"STREAM.{verb}.{name}", _merged(known, wanted.streams[name]))
        return
    durable = name.removeprefix(f"{STREAM}/")
    config = {**have.consumers.get(durable, {}), **wanted.consumers[durable]}
    body = {"stream_name": STREAM, "config": config}
    await call(connection, f"CONSUMER.CREATE.{STREAM}.{durable}.{config['filter_subject']}", body)


async def add_metadata(connection: Connection, stream: str, metadata: dict[str, str]) -> None:
    """Add to a stream's metadata, and change nothing else."""
    config = (await call(connection, f"STREAM.INFO.{stream}"))["config"]
    await call(connection, f"STREAM.UPDATE.{stream}", _merged(config, {"metadata": metadata}))


def _merged(known: Config, wanted: Config) -> Config:
    """A stream's new configuration, without the metadata that the server writes itself."""
    metadata = {**known.get("metadata", {}), **wanted.get("metadata", {})}
    own = {name: value for name, value in metadata.items() if not name.startswith("_nats.")}
    return {**known, **wanted, "metadata": own}


def worker_consumer(name: str, subjects: str) -> Config:
    """A worker's durable consumer: its name and filter."""
    return {
        "durable_name": name,
        "name": name,
        "filter_subject": subjects,
        "ack_policy": "explicit",
        "deliver_policy": "all",
        "replay_policy": "instant",
        "ack_wait": ACK_WAIT,
        "max_deliver": -1,
        "max_ack_pending": MAX_ACK_PENDING,
    }


def _compare(target: str, want: Config, have: Config | None, action: Any) -> list[TopologyChange]:
    if have is None:
        return [TopologyChange("create", target)]
    return [
        TopologyChange(action(field, have.get(field), value), target, field, have.get(field), value)
        for field, value in want.items()
        if not _same(field, have.get(field), value)
    ]


def _same(field: str, have: Any, want: Any) -> bool:
    if field == "metadata":
        return all((have or {}).get(key) == value for key, value in want.items())
    if field == "subjects":
        return sorted(have or []) == sorted(want)
    return bool(have == want) or (not have and not want)


_STREAM_FIXED = frozenset({"subjects", "subject_transform", "storage", "retention"})
_LIMITS = frozenset({"max_bytes", "max_msgs", "max_age"})
_CONSUMER_MOVABLE = frozenset({"ack_wait", "max_deliver", "max_ack_pending"})


def _stream_action(field: str, have: Any, want: Any) -> Literal["update", "refuse"]:
    loses_events = field in _LIMITS and _lower(have, want)
    loses_replicas = field == "num_replicas" and want < have
    is_refused = field in _STREAM_FIXED or loses_events or loses_replicas
    return "refuse" if is_refused else "update"


def _lower(have: Any, want: Any) -> bool:
    """Whether a limit gets tighter, which makes the server delete events. 0 and -1 are none."""
    return want not in (None, 0, -1) and (have in (None, 0, -1) or want < have)


def _consumer_action(field: str, have: Any, want: Any) -> Literal["update", "refuse"]:
    return "update" if field in _CONSUMER_MOVABLE else "refuse"
