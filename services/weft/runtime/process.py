"""What a service runs with: settings, a connection, its health, and a signal to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from weft.log.connection import Connection
from weft.runtime.broker import Broker
from weft.runtime.metrics import Metrics
from weft.runtime.request_telemetry import measured, traced
from weft.runtime.settings import Settings
from weft.runtime.tracing import Tracing

BEHIND_EVENTS = 1_000
"""A process with more unfinished events than this is not ready: about a second of work."""


class Process:
    """Settings, connection, metrics and health of one process."""

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self.settings = settings
        self.metrics = Metrics(name)
        self.health = Health()
        self.stopping = asyncio.Event()
        """Set by SIGTERM or SIGINT: finish the work at hand and start nothing new."""
        self.tracing = Tracing(name, settings)
        self.broker = Broker()
        """FastStream's side of the process; shares the log's connection."""
        self.broker.add_middleware(measured(self.metrics.registry, name))
        if self.tracing.provider is not None:
            self.broker.add_middleware(traced(self.tracing.provider))
        self._connection: Connection | None = None
        self.http_port = 0
        """Of its health and metrics; known before the service runs."""
        self.answers = False
        """Whether it takes requests now."""

    @property
    def connection(self) -> Connection:
        """Open before the service runs."""
        assert self._connection is not None, "this process is not connected"
        return self._connection

    @connection.setter
    def connection(self, connection: Connection) -> None:
        self._connection = connection
        self.broker.share(connection)

    def started(self) -> None:
        """Say that the service is set up and takes work."""
        self.health.report(_STARTING, None)

    def complaint(self) -> str | None:
        """Why this process is not ready, None if it is."""
        if not self.connection.is_connected:
            return "no connection to nats-server"
        return self.health.complaint()

    def behind(self, events: int) -> None:
        """Report how many published events are not finished here."""
        self.health.lag = events
        self.metrics.lag(events)


Service = Callable[[Process], Awaitable[None]]
"""Runs until `process.stopping` is set, then drains and returns. Raises if it cannot continue."""

_STARTING = "service"
"""The part that cannot work until the process has started."""


class Health:
    """Whether this process can work, as `/ready` reports it."""

    def __init__(self) -> None:
        self.lag = 0
        """Events published and not finished here."""
        self.last_error = ""
        """The last error with its time (UTC), whether or not it is resolved."""
        self._faults = {_STARTING: "starting"}

    def report(self, part: str, fault: str | None) -> None:
        """Record why `part` cannot work now, or None if it can."""
        if fault is None:
            self._faults.pop(part, None)
        else:
            self._faults[part] = fault
            if _STARTING not in self._faults:  # what it waits for while it starts is no error
                self.failed(fault)

    def failed(self, error: str) -> None:
        """Record an error that does not stop the process."""
        self.last_error = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {error}"

    def complaint(self) -> str | None:
        """None if the process is ready."""
        if self._faults:
            return "; ".join(self._faults.values())
        return f"behind by {self.lag} events" if self.lag > BEHIND_EVENTS else None
