"""`weft status`: the state of the log, its consumers, every process and the read model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from weft.cli.connecting import client, connected, json_option, running
from weft.cli.output import hint, print_json, shortened, table
from weft.runtime.settings import Settings
from weft_schemas.errors import Forbidden, NotFound, Overloaded, Unavailable, WeftError
from weft_schemas.status import ProcessState, StatusReply
from weft_schemas.subjects import AUDIT_STREAM, STREAM

if TYPE_CHECKING:
    from weft.client import Client
    from weft.log.connection import Connection


class StreamStatus(msgspec.Struct, frozen=True):
    name: str
    messages: int
    bytes: int
    first: int
    last: int
    """As sequences."""


class ConsumerStatus(msgspec.Struct, frozen=True):
    name: str
    lag: int
    """Events that were published and not yet delivered."""
    in_work: int
    """Events that were delivered and not yet acknowledged."""
    redelivered: int


class Status(msgspec.Struct, frozen=True):
    tenant: str
    healthy: bool
    """Whether every kind of process that is needed has a working one, as has every worker of your
    own for which events wait."""
    streams: list[StreamStatus]
    consumers: list[ConsumerStatus]
    processes: list[ProcessState]
    """Those that answered; a process that is dead or blocked does not."""
    read_model: StatusReply | None
    """Of the replica that answered; null if none did."""
    behind: int | None
    """Events that the replica has not folded yet."""
    notes: list[str]


@click.command()
@click.option("--session", "-s", metavar="ID", help="Of one session only.")
@json_option
@connected
@click.pass_context
def status(ctx: click.Context, session: str | None, as_json: bool, settings: Settings) -> None:
    """Show streams, consumers with their lag, every process with its health and last error, the
    read model's watermark, items whose id was taken by other content (conflicts), and events that
    a worker gave up (dead letters). Long errors are shortened; --json has all of them.

    The exit code is 1 if a kind of process is missing, or if no process of a kind works. A worker
    of your own is missing if events wait for it and no process of it runs.

    \b
    Examples:
      weft status
      weft status --session s1 --json | jq .read_model.conflicts
    """
    found = running(_status(settings, session))
    if session and found.read_model is not None and not _known(found.read_model):
        raise NotFound(
            f"session {session!r} of tenant {settings.tenant!r} is not in the read model, which is "
            f"{found.behind or 0} events behind; check its name, or publish to it first"
        )
    if as_json:
        print_json(found)
    else:
        _print(found)
    ctx.exit(0 if found.healthy else 1)


def _known(model: StatusReply) -> bool:
    return bool(model.sessions or model.items or model.parked or model.pending)


async def _status(settings: Settings, session: str | None) -> Status:
    from weft.audit.needed_processes import amiss
    from weft.workers.durable_consumers import abandoned, durable_consumers

    notes: list[str] = []
    async with client(settings) as log:
        streams = await _streams(log.connection, notes)
        durable = await durable_consumers(log.connection, notes) if streams else []
        read_model = await _read_model(log, session, notes)
        processes = await _processes(log, notes)
    behind = _behind(streams, read_model)
    left = abandoned(durable, [one.service for one in processes])
    missing = ["; ".join(filter(None, one)) for one in [*amiss(processes), *left]]
    consumers = [ConsumerStatus(one.name, one.lag, one.in_work, one.redelivered) for one in durable]
    notes += missing
    return Status(
        settings.tenant, not missing, streams, consumers, processes, read_model, behind, notes
    )


def _behind(streams: Sequence[StreamStatus], read_model: StatusReply | None) -> int | None:
    """None if the stream of events cannot be seen, or the read model."""
    last = next((one.last for one in streams if one.name == STREAM), None)
    if last is None or read_model is None:
        return None
    return max(0, last - read_model.sequence)


async def _processes(log: Client, notes: list[str]) -> list[ProcessState]:
    try:
        return list(await log.processes())
    except WeftError as error:
        notes.append(f"the processes cannot be asked: {error}")
        return []


async def _streams(connection: Connection, notes: list[str]) -> list[StreamStatus]:
    from weft.log.reading import state

    found = []
    for name in (STREAM, AUDIT_STREAM):
        try:
            now = await state(connection, name)
        except NotFound:
            notes.append(f"there is no stream {name}: start the services with `weft up`")
        except (Forbidden, Unavailable) as error:
            notes.append(f"stream {name} cannot be seen: {error}")
        else:
            found.append(StreamStatus(name, now.messages, now.bytes, now.first, now.last))
    return found


async def _read_model(log: Client, session: str | None, notes: list[str]) -> StatusReply | None:
    try:
        return await log.status(session)
    except (Forbidden, Overloaded, Unavailable) as error:
        notes.append(f"the read model cannot be asked: {error}")
        return None


def _print(found: Status) -> None:
    if found.streams:
        table(
            "streams",
            ["name", "messages", "bytes", "first", "last"],
            [[one.name, one.messages, one.bytes, one.first, one.last] for one in found.streams],
        )
    if found.consumers:
        table(
            "\nconsumers",
            ["name", "lag", "in work", "redelivered"],
            [[one.name, one.lag, one.in_work, one.redelivered] for one in found.consumers],
        )
    if found.processes:
        _print_processes(found.processes)
    if found.read_model is not None:
        _print_read_model(found.read_model, found.behind)
    if found.read_model is not None and found.read_model.rebuilt:
        hint(f"note: the read model was built anew: {found.read_model.rebuilt}")
    for note in found.notes:
        hint(f"note: {note}")


def _print_processes(processes: Sequence[ProcessState]) -> None:
    table(
        "\nprocesses",
        ["service", "host", "process", "port", "state", "lag", "last error, mended or not"],
        [
            [
                one.service,
                one.host,
                str(one.pid),
                str(one.port),
                _state(one),
                one.lag,
                shortened(one.last_error),
            ]
            for one in processes
        ],
    )


def _state(process: ProcessState) -> str:
    return "ready" if process.ready else shortened(f"not ready: {process.complaint}")


def _print_read_model(model: StatusReply, behind: int | None) -> None:
    counts = ("sessions", "items", "duplicates", "conflicts", "pending", "parked")
    rows = [[name, getattr(model, name)] for name in ("sequence", *counts)]
    rows += [["behind", behind]] if behind is not None else []
    whose = f"session {model.session}" if model.session else f"tenant {model.tenant}"
    table(f"\nread model of {whose}", ["", "count"], rows)
    conflicts = [one for one in model.collisions if one.conflict]
    if conflicts:
        table(
            "\nconflicts: the id was taken by other content, which stays",
            ["session", "item", "sequence", "first"],
            [[one.session, one.item_id, one.sequence, one.first_sequence] for one in conflicts],
        )
    if model.waiting:
        table(
            "\npending: no envelope yet",
            ["session", "item", "sequence"],
            [[one.session, one.item_id, one.sequence] for one in model.waiting],
        )
    if model.dead_letters:
        table(
            "\ndead letters: a worker gave these up",
            ["session", "sequence", "item", "worker", "attempts", "error"],
            [
                [
                    one.session,
                    one.sequence,
                    one.item_id,
                    one.worker,
                    one.attempts,
                    shortened(one.error),
                ]
                for one in model.dead_letters
            ],
        )
