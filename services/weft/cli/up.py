"""`weft up`: everything on this machine, supervised, until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from weft.cli.connecting import connected, named_server, running
from weft.cli.output import hint
from weft.model_encodings import encoding_named
from weft.runtime.settings import Settings
from weft_schemas.errors import ConfigurationError, NotFound, Unavailable, WeftError

if TYPE_CHECKING:
    from weft.supervision.preloaded import PreloadedProcess
    from weft.supervision.supervisor import ChildState, Supervisor
    from weft_schemas.status import ProcessState

PORT = 4222
"""NATS's own port, so that clients need no address."""
_POLL_SECONDS = 0.2
_TARGETS_SECONDS = 10.0
_TRIES = 5
_COMPLAINT = b"weft: "
"""How a command begins to say why it cannot run."""
TARGETS = "metrics.json"
"""File in the data folder: the addresses at which the processes serve their metrics now."""
_NEVER = 2**62
"""Later than any event."""


def _processes(flag: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        flag,
        type=click.IntRange(min=0),
        default=1,
        show_default=True,
        metavar="N",
        help=f"Processes of the {flag.removeprefix('--')}.",
    )


@click.command()
@click.option("--data", "data_dir", type=click.Path(path_type=Path), metavar="DIR",
              help="Data folder.  [WEFT_DATA_DIR, else ./weft-data]")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65_535), default=PORT, show_default=True,
              help="0 takes a free one.")  # fmt: skip
@click.option("--cluster", type=click.Choice(["3"]), metavar="3",
              help="Three servers as one cluster, on free ports, to try failures on.")  # fmt: skip
@click.option("--encoding", metavar="NAME",
              help="Count tokens as this model or tokenizer.json does.  [WEFT_ENCODING, else "
              "o200k_base]")  # fmt: skip
@_processes("--firewall")
@_processes("--summarizer")
@_processes("--memory")
@_processes("--compiler")
@click.option("--indexer", type=click.IntRange(0, 1), default=1, show_default=True, metavar="N",
              help="0 starts none: for `weft rebuild --accept-loss`.")  # fmt: skip
@_processes("--router")
@click.option("--log", "log_file", type=click.Path(path_type=Path), metavar="FILE",
              help="Services' JSON logs.  [DIR/weft.log]")  # fmt: skip
@connected
def up(
    data_dir: Path | None,
    port: int,
    cluster: str | None,
    encoding: str | None,
    log_file: Path | None,
    settings: Settings,
    **workers: int,
) -> None:
    """Start the log and all services here, one process each, and keep them running.

    An embedded nats-server is started unless --nats or WEFT_NATS_URL names one. A process that
    dies is restarted with back-off. Ctrl-C lets every process finish its work and stops it; the
    data stays.

    \b
    Examples:
      weft up
      weft up --data /var/lib/weft --firewall 2 --compiler 2
      weft up --cluster 3
      weft up --encoding gpt-4o
      weft up --nats nats://10.0.0.5:4222 --creds weft.creds
    """
    import msgspec

    if encoding is not None:
        try:
            settings = msgspec.structs.replace(settings, encoding=encoding_named(encoding))
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--encoding") from None
    if data_dir is not None:
        # The secret is that of the environment or of this folder, never that of another folder.
        key = os.environ.get("WEFT_FINGERPRINT_KEY", "")
        settings = msgspec.structs.replace(settings, data_dir=data_dir, fingerprint_key=key)
    embedded = _starts_servers(bool(cluster))
    log_file = log_file or settings.data_dir / "weft.log"
    from weft.cli.services import preloaded
    from weft.supervision.up import EVERYTHING

    counts = {**EVERYTHING, **workers}
    services = [service for service, count in counts.items() if count]
    try:
        with preloaded(services, settings.encoding) as forked:
            work = _up(settings, port, embedded, bool(cluster), counts, log_file, forked)
            running(work, talks=True)
    except Unavailable as error:
        if "address already in use" not in str(error):
            raise
        raise ConfigurationError(
            f"port {port} is taken; choose another one with --port (0 takes a free one), or use "
            f"the server that is there: --nats nats://127.0.0.1:{port}"
        ) from None


def _starts_servers(clustered: bool) -> bool:
    """Whether servers are started here, or one runs that is named. Raises `click.UsageError` for
    options that contradict that."""
    where = named_server()
    if where is None:
        return True
    if _is_given("port"):
        by = "--nats" if _is_given("nats_url") else "WEFT_NATS_URL"
        raise click.UsageError(
            f"--port is of a server that is started here, and {by} names one to connect to: "
            f"{where}; leave --port out to use that one, or {by} to start one here"
        )
    if clustered:
        raise click.UsageError("--cluster starts servers here; leave --nats and WEFT_NATS_URL out")
    return False


def _is_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


async def _up(
    settings: Settings,
    port: int,
    embedded: bool,
    clustered: bool,
    counts: dict[str, int],
    log_file: Path,
    forked: PreloadedProcess | None,
) -> None:
    from weft.supervision.up import running as everything

    export(settings)
    with _opened(log_file) as log, _logging_to(log, settings.log_level):
        begun = log.tell()
        async with everything(
            settings,
            counts,
            embedded=embedded,
            clustered=clustered,
            port=port,
            log_file=log,
            preloaded=forked,
        ) as started:
            where = started.settings.nats_url
            hint(f"log at {where}, data in {settings.data_dir}, logs in {log_file}")
            greeting = asyncio.create_task(_greet(started.settings, counts))
            try:
                await until_signal(
                    started.supervisor, lambda names: _last_words(log_file, begun, names)
                )
            finally:
                greeting.cancel()
                await asyncio.gather(greeting, return_exceptions=True)
            hint("stopping: the services finish what they began")
    hint("stopped")


def _opened(log_file: Path) -> IO[bytes]:
    try:
        log_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return log_file.open("ab")
    except OSError as error:
        raise ConfigurationError(
            f"{error.filename}: {error.strerror}; choose another --data or --log"
        ) from None


@contextlib.contextmanager
def _logging_to(log: IO[bytes], level: str) -> Iterator[None]:
    """This process's own log goes to its children's file; the terminal gets short lines."""
    from weft.runtime.logs import end_logging, set_up_logging

    lines = io.TextIOWrapper(log, line_buffering=True)
    with contextlib.redirect_stderr(lines):
        set_up_logging("up", level)
    try:
        yield
    finally:
        end_logging()
        lines.detach()


def export(settings: Settings) -> None:
    """Give the settings of this command's options to the processes that it starts."""
    for name, value in settings.connection().items():
        if value is not None:
            os.environ[f"WEFT_{'NATS_URL' if name == 'url' else name.upper()}"] = str(value)


async def until_signal(
    supervisor: Supervisor, said_by: Callable[[Sequence[str]], list[str]] = lambda _: []
) -> None:
    """Wait for SIGINT or SIGTERM, reporting what starts, dies and comes back.

    Raises `ConfigurationError` if restarting cannot repair a service, with what the failed ones
    have `said_by` then.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    telling = asyncio.create_task(_tell(supervisor))
    try:
        was_stopped = await supervisor.run_until(stop)
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
    if not was_stopped:
        failed = [state.name for state in supervisor.states() if state.status == "failed"]
        said = said_by(failed)
        raise ConfigurationError(
            f"{', '.join(failed)} cannot run with these settings"
            + (": " + "; ".join(said) if said else "; see the logs")
        )


def _last_words(log_file: Path, begun: int, names: Sequence[str]) -> list[str]:
    """Why processes ended, as each wrote it last into the log since that had `begun` bytes; each
    reason once. One that cannot even begin writes a line of text, as a command does."""
    import msgspec

    from weft.runtime.logs import ENDS

    said: dict[str, str] = {}
    texts: list[str] = []
    with log_file.open("rb") as log:
        log.seek(begun)
        for line in log:
            if line.startswith(_COMPLAINT):
                texts.append(line.removeprefix(_COMPLAINT).decode(errors="replace").strip())
            with contextlib.suppress(msgspec.DecodeError, KeyError, TypeError):
                read = msgspec.json.decode(line)
                if read["message"] == ENDS:
                    said[read["process"]] = read["error"]
    services = dict.fromkeys(name.partition("-")[0] for name in names)
    return list(dict.fromkeys([*(said[name] for name in services if name in said), *texts]))


async def _tell(supervisor: Supervisor) -> None:
    before: dict[str, ChildState] = {}
    while True:
        for state in supervisor.states():
            news = before.get(state.name) != state and state.status != "stopped"
            if news and (state.pid is not None or state.last_exit is not None):
                hint(_line(state))
            before[state.name] = state
        await asyncio.sleep(_POLL_SECONDS)


def _line(state: ChildState) -> str:
    if state.status == "running":
        again = f", restart {state.restarts}" if state.restarts else ""
        return f"  {state.name:<14} running (process {state.pid}{again})"
    return f"  {state.name:<14} {state.status} (ended with {state.last_exit})"


async def _greet(settings: Settings, counts: Mapping[str, int]) -> None:
    """Say when a compile would be answered, and a route if there is a router. Also say where the
    metrics are: to the user, and in a file for Prometheus as long as this runs."""
    while not await answers(settings, counts["router"] > 0):
        await asyncio.sleep(_POLL_SECONDS)
    targets = settings.data_dir / TARGETS
    found = await _responding_processes(settings, sum(counts.values()))
    write_targets(targets, found)
    hint(f"metrics, whose addresses {targets} keeps for Prometheus:")
    for one in found:
        hint(f"  {one.service:<14} http://127.0.0.1:{one.port}/metrics")
    _say_ready(settings)
    while True:
        await asyncio.sleep(_TARGETS_SECONDS)
        write_targets(targets, await _responding_processes(settings))


async def _responding_processes(settings: Settings, wanted: int = 0) -> tuple[ProcessState, ...]:
    """The processes that answer a roll call, once all that are wanted do; after some tries, those
    that have answered."""
    from weft.log.transport import connect
    from weft.runtime.roll_call import call_roll

    found: tuple[ProcessState, ...] = ()
    try:
        log = await connect(name="weft-up", **settings.connection())
    except WeftError:
        return found
    try:
        for _ in range(_TRIES):
            found = await call_roll(log, settings.tenant)
            if len(found) >= wanted:
                break
    finally:
        await log.close()
    return found


def write_targets(path: Path, processes: Sequence[ProcessState]) -> None:
    """The addresses of the processes' metrics in the form of Prometheus's `file_sd_configs`. If the
    file cannot be written, the command continues."""
    import msgspec

    targets = [
        {"targets": [f"127.0.0.1:{one.port}"], "labels": {"service": one.service}}
        for one in processes
    ]
    draft = path.with_suffix(".new")
    with contextlib.suppress(OSError):
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(targets)))
        os.replace(draft, path)


OPEN = (
    "open: there are no permissions here, and without `weft grants` everybody reads and writes the "
    "memory of every scope; see docs/security.md"
)
"""Printed at every start: this is for a single user's machine."""


def _say_ready(settings: Settings) -> None:
    url = settings.nats_url
    where = f" --nats {url}" if url != Settings().nats_url else ""
    hint(OPEN)
    hint(f"ready: weft publish FILE --session s1{where}; Ctrl-C stops everything here")


async def answers(settings: Settings, routed: bool) -> bool:
    """Whether the services answer yet."""
    from weft.client import Client

    try:
        async with Client(settings) as log:
            await log.status()
            if routed:
                # A version that will never exist: an answered request would be recorded.
                with contextlib.suppress(NotFound):
                    await log.route("ready", "default", after=_NEVER, timeout=0.0)
    except WeftError:
        return False
    return True
