"""The durable consumers of the log: how far each has come, and whether anybody fetches for it. The
log knows a user's own worker only by its consumer."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from weft.log.api import call
from weft.log.connection import Connection
from weft.log.topology import WORKERS
from weft_schemas.errors import Conflict, InvalidInput, NotFound, WeftError
from weft_schemas.subjects import STREAM


class DurableConsumer(msgspec.Struct, frozen=True):
    name: str
    lag: int
    """Events that were published and not yet delivered."""
    in_work: int
    """Events that were delivered and not yet acknowledged."""
    redelivered: int
    is_fetched: bool
    """Whether a process waits for its events now; one that works on some may not."""


async def durable_consumers(
    connection: Connection, notes: list[str] | None = None
) -> list[DurableConsumer]:
    """Weft's own workers first, then the user's. Those that cannot be seen are told in `notes`."""
    found = []
    for name in [*WORKERS, *(await _others(connection))]:
        try:
            info = await call(connection, f"CONSUMER.INFO.{STREAM}.{name}")
        except WeftError as error:
            if notes is not None:
                notes.append(f"consumer {name} cannot be seen: {error}")
            continue
        if info["config"].get("durable_name"):  # others belong to readers of the moment
            is_fetched = bool(info.get("num_waiting") or info.get("push_bound"))
            counts = (info["num_pending"], info["num_ack_pending"], info["num_redelivered"])
            found.append(DurableConsumer(name, *counts, is_fetched))
    return found


async def _others(connection: Connection) -> list[str]:
    """Names of the consumers besides weft's own; none if this credential may not list them."""
    names: list[str] = []
    try:
        while True:
            page = await call(connection, f"CONSUMER.NAMES.{STREAM}", {"offset": len(names)})
            names += page["consumers"] or []
            if not page["consumers"] or len(names) >= page["total"]:
                break
    except WeftError:
        return []
    return sorted(set(names) - {*WORKERS})


async def remove_consumer(connection: Connection, name: str) -> int:
    """Delete the consumer of a worker of the user's own; returns how many events waited for it.

    Raises `InvalidInput` for one of weft's own, `NotFound` if there is none, and `Conflict` while a
    process fetches for it, which would make it again.
    """
    if name in WORKERS:
        raise InvalidInput(f"{name} is a worker of weft itself; name one of your own")
    found = {one.name: one for one in await durable_consumers(connection)}
    if name not in found:
        own = ", ".join(one for one in found if one not in WORKERS) or "none"
        raise NotFound(f"no worker {name!r:.80} of your own has a consumer; there are: {own}")
    if found[name].is_fetched:
        raise Conflict(f"a process of {name} runs; end it, then remove the worker")
    await call(connection, f"CONSUMER.DELETE.{STREAM}.{name}")
    return found[name].lag + found[name].in_work


def abandoned(
    consumers: Iterable[DurableConsumer], services: Iterable[str]
) -> list[tuple[str, str]]:
    """A message and a remedy for each of the user's own workers whose events wait while no process
    of it is among the `services` that answer."""
    there = {*WORKERS, *services}
    return [
        (
            f"no {one.name} answers, and {one.lag + one.in_work:,} events wait for it",
            f"start one: `weft work MODULE:{one.name}`, or `weft workers remove {one.name}` if "
            "nothing needs it",
        )
        for one in consumers
        if one.name not in there and not one.is_fetched and one.lag + one.in_work
    ]
