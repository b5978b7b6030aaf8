"""The services of weft, and a loaded process of which a command that starts several forks them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from weft_schemas.errors import WeftError

if TYPE_CHECKING:
    from weft.runtime.zygote import Zygote

SERVICES = {
    "firewall": "weft.firewall.worker:service",
    "summarizer": "weft.summarizer.worker:service",
    "memory": "weft.memory.worker:service",
    "indexer": "weft.indexer.worker:service",
    "compiler": "weft.replica_service.service:service",
    "router": "weft.router.service:service",
}
"""Service → the coroutine function that runs it until its process is told to stop."""


def zygote(services: Iterable[str], encoding: str) -> Zygote:
    """Of which these services are forked, by their `work`. It is forked from this process, which
    must not have threads or an event loop yet."""
    from weft.cli.main import run
    from weft.runtime.zygote import Zygote

    return Zygote.forked(partial(load, tuple(services), encoding), run)


def load(services: Iterable[str], encoding: str) -> None:
    """Import what these services need, and set up what they set up at first use."""
    import_module("weft.runtime.application")
    for name in services:
        # The service itself says what it lacks.
        with suppress(ImportError, WeftError):
            warm = getattr(import_module(SERVICES[name].partition(":")[0]), "warm", None)
            if warm is not None:
                warm(encoding)
