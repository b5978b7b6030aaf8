"""The services of weft, and a process that has imported what they need: commands that start several
services fork them from it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from weft_schemas.errors import WeftError

if TYPE_CHECKING:
    from weft.supervision.preloaded import PreloadedProcess

SERVICES = {
    "firewall": "weft.firewall.worker:service",
    "summarizer": "weft.summarizer.worker:service",
    "memory": "weft.memory.worker:service",
    "indexer": "weft.indexer.worker:service",
    "compiler": "weft.replica_service.service:service",
    "router": "weft.router.service:service",
}
"""Service → the coroutine function that runs it until its process is told to stop."""

OF_EACH = (
    "weft.runtime.application",
    "weft.log.nats_internals",
    # Uvicorn itself looks for these only when it starts.
    "uvicorn.lifespan.on",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
)
"""Modules that every service needs."""


@contextmanager
def preloaded(
    services: Iterable[str], encoding: str, at_once: bool = True
) -> Iterator[PreloadedProcess | None]:
    """A process from which these services can be forked, as `weft work` starts them. It is itself a
    fork of this process, which must not have threads or an event loop yet. It imports what they
    need `at_once`, or with the first one that is started.

    None on other systems than Linux: the libraries of macOS have threads that a fork would break.
    """
    from weft.cli.main import run
    from weft.supervision.preloaded import PreloadedProcess

    if sys.platform != "linux":
        yield None
        return
    process = PreloadedProcess.forked(partial(load, tuple(services), encoding), run, at_once)
    with closing(process):
        yield process


def load(services: Iterable[str], encoding: str) -> None:
    """Import what these services need, and set up what they would set up at first use."""
    for module in OF_EACH:
        import_module(module)
    for name in services:
        # The service itself reports what is missing.
        with suppress(ImportError, WeftError):
            warm = getattr(import_module(SERVICES[name].partition(":")[0]), "warm", None)
            if warm is not None:
                warm(encoding)
