"""Checks of the server, and of what the log on it says of a tenant: its scopes, redaction hooks,
erasures and processes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from weft.audit.doctor.age_limit import age_limit
from weft.audit.doctor.check import Check, CheckState
from weft.audit.doctor.folded import folded
from weft.audit.doctor.log import log_of
from weft.audit.needed_processes import amiss
from weft.erasure.tombstones import left_of_erased
from weft.log.connection import Connection
from weft.log.reading import read_own
from weft.readmodel.generations import Generations
from weft.redaction import installed_hooks
from weft.runtime.policies import grants_in_force
from weft.runtime.roll_call import call_roll
from weft.runtime.settings import Settings
from weft.supervision.embedded_server import MAX_PAYLOAD
from weft.workers.durable_consumers import abandoned, durable_consumers
from weft_schemas.errors import Forbidden, NotFound, WeftError
from weft_schemas.policy import ContextPolicy

SERVER = (2, 12)
"""An older server has no atomic batches."""
FAST_SERVER = (2, 14)
"""From this version on, bulk publishing uses fast ingest."""


async def server(log: Connection, settings: Settings) -> list[Check]:
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
    checks += await log_of(log, settings)
    checks += await folded(log, settings)
    checks += await age_limit(log, settings)
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


async def _scopes(log: Connection, settings: Settings) -> list[Check]:
    """Whose memory may be used. A credential that cannot see the log cannot see the grants."""
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
    """Events that came late to erased sessions: no prompt shows them, but the log holds them."""
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


async def _processes(log: Connection, settings: Settings) -> list[Check]:
    try:
        found = await call_roll(log, settings.tenant)
    except WeftError as error:
        return [Check("processes", "note", f"they cannot be asked: {error}")]
    if not found:
        return [Check("processes", "fault", "none answers", "start them: `weft up`, `weft work`")]
    services = {one.service for one in found}
    ill = [
        (f"{one.service} (process {one.pid}): {one.complaint}", "see their logs")
        for one in found
        if not one.ready
    ]
    missing = [(what, do) for what, do in amiss(found) if do]
    if wrong := [*ill, *missing, *abandoned(await durable_consumers(log), services)]:
        whats, dos = zip(*wrong, strict=True)
        return [Check("processes", "fault", "; ".join(whats), "; ".join(dict.fromkeys(dos)))]
    names = ", ".join(sorted(services))
    return [Check("processes", "ok", f"{len(found)} answer: {names}")]
