"""Watches what a worker depends on: its consumer, the stream and the connection. Repairs what it
can within seconds, and otherwise ends the process with a clear error.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from weft.log.api import call
from weft.log.topology import Config, desired, worker_consumer
from weft.runtime.process import Process
from weft_schemas.errors import ConfigurationError, NotFound, Unavailable
from weft_schemas.subjects import STORED, STREAM

_log = logging.getLogger(__name__)

POLL_SECONDS = 2.0
"""Between two checks; each costs the server one consumer info."""


class Watchdog:
    """Of one worker's durable consumer; reports its lag and the process's health."""

    def __init__(self, process: Process, durable: str, filter: str = STORED) -> None:
        """`filter` is for a worker that is not weft's own, whose durable consumer is created when
        its first process starts."""
        self._process = process
        self._durable = durable
        own = desired().consumers.get(durable)
        self._wanted: Config = own or worker_consumer(durable, filter)
        self._stream_created = ""
        self._floor = 0
        """Everything up to this sequence is acknowledged, when last seen."""

    async def watch(self) -> None:
        """Check for ever. Raises `Unavailable` for a lost stream, `ConfigurationError` for a
        consumer that is not this worker's."""
        while True:
            await self.look()
            await asyncio.sleep(POLL_SECONDS)

    async def look(self) -> None:
        """Check once, and repair what can be repaired."""
        health = self._process.health
        try:
            await self._look()
        except StreamLost:
            raise
        except (Unavailable, NotFound) as error:
            # If the consumer vanished between two requests, the next look will tell.
            health.report("server", str(error))
        else:
            health.report("server", None)

    async def _look(self) -> None:
        connection = self._process.connection
        try:
            stream = await call(connection, f"STREAM.INFO.{STREAM}")
        except NotFound:
            raise StreamLost(
                f"the stream {STREAM} is gone from the server; provision it again, as "
                "`weft up` does, and start this worker again"
            ) from None
        if stream["created"] != self._stream_created:
            # Another stream of the same name: acknowledgements in the old one do not count.
            self._stream_created, self._floor = stream["created"], 0
        try:
            info = await call(connection, f"CONSUMER.INFO.{STREAM}.{self._durable}")
        except NotFound:
            await self._recreate()
            return
        self._check(info["config"])
        self._floor = int(info["ack_floor"]["stream_seq"])
        self._process.behind(int(info["num_pending"]) + int(info["num_ack_pending"]))

    def _check(self, config: dict[str, Any]) -> None:
        for field in ("filter_subject", "ack_policy"):
            if config.get(field) != self._wanted[field]:
                raise ConfigurationError(
                    f"consumer {STREAM}/{self._durable}: {field} is {config.get(field)!r}, this "
                    f"release needs {self._wanted[field]!r}; delete the consumer, it is made again"
                )

    async def _recreate(self) -> None:
        """Create the durable consumer again, starting after what is known to be acknowledged. An
        event that is delivered twice derives the same ids, and the fold counts the first."""
        config = dict(self._wanted)
        if self._floor:
            config |= {"deliver_policy": "by_start_sequence", "opt_start_seq": self._floor + 1}
        verb = f"CONSUMER.CREATE.{STREAM}.{self._durable}.{config['filter_subject']}"
        body = {"stream_name": STREAM, "config": config, "action": "create"}
        _log.warning(
            "the consumer is not there and is made",
            extra={"fields": {"consumer": self._durable, "from": self._floor + 1}},
        )
        try:
            await call(self._process.connection, verb, body)
        except ConfigurationError:
            # Another process of this worker was first.
            await call(self._process.connection, f"CONSUMER.INFO.{STREAM}.{self._durable}")


class StreamLost(Unavailable):
    """The stream itself is gone, which this process cannot repair."""
