"""Checks of the log: whether it can be seen, has room, is as this release makes it, and whether a
replica could start on a trimmed one; the clocks and nodes of its server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, cast

from weft.audit.doctor.check import LITTLE_SHARE, Check, CheckState
from weft.audit.log_settings import dangers
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.reading import nanoseconds
from weft.log.topology import Durability, LogLimits, actual, desired, diff
from weft.runtime.settings import Settings
from weft.snapshots.loss import accepted_loss
from weft.snapshots.snapshot import NOTHING_LEFT, TAKE_ONE, judged
from weft.snapshots.trim_mark import trimmed_before
from weft_schemas.errors import Forbidden, NotFound, WeftError
from weft_schemas.subjects import STREAM

FULL_SHARE, MIN_ROOM = 0.01, 8_192
"""The log is full if less than this share of its limit is left, or so few bytes: most events do not
fit any more."""
SKEW_SECONDS = 2.0
"""Most difference to the server's clock. Times in logs and the closing of idle sessions depend on
the clocks."""
SILENT_SECONDS = 4.0
"""A node of a cluster that its leader has not heard for so long is away: it says something every
second."""


async def log_of(log: Connection, settings: Settings) -> list[Check]:
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
    if left < max(FULL_SHARE * most, MIN_ROOM):
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
    limits = LogLimits(settings.max_bytes or -1, settings.max_age_seconds)
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
