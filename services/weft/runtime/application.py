"""One process of weft: a FastStream application that runs one service, with health, metrics, JSON
logs and a graceful end. FastStream gives the lifecycle and the ASGI side."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from faststream.asgi import AsgiFastStream, AsgiResponse, get
from prometheus_client import make_asgi_app

from weft.log.api import call
from weft.log.connection import Connection
from weft.log.secret_check import check_secret
from weft.log.timeouts import cancelled
from weft.log.transport import connect
from weft.parent_death import die_with_parent
from weft.runtime.deployment import required_secret
from weft.runtime.logs import ENDS, fields, set_up_logging
from weft.runtime.process import Process, Service
from weft.runtime.roll_call import answer_roll_calls
from weft.runtime.settings import Settings
from weft.web_server import WebServer, listener
from weft_schemas.errors import Forbidden, NotFound, Unavailable, WeftError
from weft_schemas.subjects import STREAM

_logger = logging.getLogger(__name__)

DRAIN_SECONDS = 10.0
"""From the signal to the exit: fetched events are finished or returned, and replies are sent."""
CANCEL_SECONDS = 1.0
ELECTION_SECONDS = 30.0
"""How long a process that starts waits for the stream's leader; an election takes 4 to 10 s.
Restarting the process, with longer pauses each time, would take longer."""
_ASK_SECONDS = 2.0
_COMM = Path("/proc/self/comm")
_PAUSE_SECONDS = 0.2


async def serve(name: str, settings: Settings, service: Service) -> None:
    """Run `service` as this process until a signal; returns after a clean drain.

    Raises what the service raises, `Unavailable` if there is no server, and
    `ConfigurationError` if the HTTP port is taken or the deployment's secret is missing.
    """
    required_secret(settings.fingerprint_key, settings.data_dir)
    die_with_parent()
    _show_name(name)
    set_up_logging(name, settings.log_level)
    process = Process(name, settings)
    hint = "set WEFT_HTTP_PORT to a free port, or to 0"
    listening = listener(settings.http_host, settings.http_port, hint)
    process.http_port = listening.getsockname()[1]
    runner = _Runner(process, service)
    server = _web_server(process, runner)
    runner.on_end = server.stop
    with server.ended_by_signals(process.stopping.set):
        _logger.info("listening", extra=fields(port=process.http_port))
        try:
            await server.serve(sockets=[listening])
        except SystemExit:
            # uvicorn's way of saying that start-up failed.
            if runner.failure is None:
                raise
    await runner.close()
    process.tracing.close()
    if runner.failure is not None:
        _logger.error(ENDS, exc_info=runner.failure)
        raise runner.failure


def _web_server(process: Process, runner: _Runner) -> WebServer:
    """FastStream's application, whose lifespan begins and ends the service."""
    app = AsgiFastStream(
        process.broker,
        logger=None,
        asgi_routes=_routes(process),
        on_startup=[runner.connect],
        after_startup=[runner.begin],
        on_shutdown=[runner.finish],
        after_shutdown=[runner.close],
    )
    # A scraper that keeps its connection open must not delay the shutdown.
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=1
    )
    return WebServer(config)


def _show_name(name: str) -> None:
    """Set the name that `ps -e` and `top` show: forked services all have the same command line."""
    with suppress(OSError):  # not on Linux
        _COMM.write_text(f"weft-{name}")


class _Runner:
    """Ties the service's task to the application's lifecycle."""

    def __init__(self, process: Process, service: Service) -> None:
        self._process = process
        self._service = service
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self.failure: BaseException | None = None
        self.on_end: Callable[[], None] = lambda: None

    async def connect(self) -> None:
        name, settings = self._process.name, self._process.settings
        try:
            self._connection = await connect(name=f"weft-{name}", **settings.connection())
        except Exception as error:
            self.failure = error
            raise
        self._process.connection = self._connection

    async def begin(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        try:
            await self._until_log_answers()
            await answer_roll_calls(self._process)
            await self._service(self._process)
        except Exception as error:
            self.failure = error
        finally:
            self._process.health.report("service", "stopping")
            self.on_end()

    async def _until_log_answers(self) -> None:
        """Any answer will do: the service itself reports errors. Raises `ConfigurationError` if the
        log belongs to a deployment with another secret."""
        ask = partial(call, self._process.connection, timeout=_ASK_SECONDS)
        clock = asyncio.get_running_loop().time
        deadline = clock() + ELECTION_SECONDS
        while not self._process.stopping.is_set() and clock() < deadline:
            try:
                info = await ask(f"STREAM.INFO.{STREAM}")
                # While the nodes elect, one answers this, and none the next.
                with suppress(NotFound, Forbidden):
                    beyond = {"seq": info["state"]["last_seq"] + 1}
                    await ask(f"STREAM.MSG.GET.{STREAM}", beyond)
            except Unavailable:
                await asyncio.sleep(_PAUSE_SECONDS)
            except WeftError:
                return
            else:
                check_secret(info["config"], self._process.settings.fingerprint_key)
                return

    async def finish(self) -> None:
        self._process.stopping.set()
        if self._task is None:
            return
        _, late = await asyncio.wait([self._task], timeout=DRAIN_SECONDS)
        if late:
            _logger.warning("the drain took too long; what is left will be redelivered")
        await cancelled(self._task, again=CANCEL_SECONDS)

    async def close(self) -> None:
        if self._connection is not None and not self._connection.is_closed:
            await self._connection.close()


def _routes(process: Process) -> list[tuple[str, Any]]:
    @get
    async def live(scope: Any) -> AsgiResponse:
        return AsgiResponse(b"live\n", 200)

    @get
    async def ready(scope: Any) -> AsgiResponse:
        complaint = process.complaint()
        if complaint is None:
            return AsgiResponse(b"ready\n", 200)
        return AsgiResponse(f"not ready: {complaint}\n".encode(), 503)

    metrics = make_asgi_app(process.metrics.registry)
    return [("/live", live), ("/ready", ready), ("/metrics", metrics)]
