"""Named points between two steps of a process at which a test can kill it, as `kill -9` would.

With `WEFT_CRASH_AT=firewall.after_publish:3` the process kills itself when it reaches that point
for the third time. Other points are empty functions.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from itertools import count

from weft_schemas.errors import ConfigurationError

VARIABLE = "WEFT_CRASH_AT"

_DERIVE_STEPS = ("fetch", "decode", "work", "publish", "ack")
_STEPS = {
    **dict.fromkeys(("firewall", "summarizer", "memory"), _DERIVE_STEPS),
    "indexer": ("fetch", "decode", "work", "commit"),
    "publisher": ("store_body", "publish"),
    "compiler": ("work", "publish"),
}

POINTS: tuple[str, ...] = tuple(
    f"{process}.after_{step}" for process, steps in _STEPS.items() for step in steps
)
"""Every crash point of weft's own processes."""
_added: set[str] = set()
"""Those of workers that are not weft's own."""


def add_worker(name: str) -> None:
    """Register the usual crash points for a worker that is not weft's own."""
    _added.update(f"{name}.after_{step}" for step in _DERIVE_STEPS)


def crash_point(name: str, environ: Mapping[str, str] = os.environ) -> Callable[[], None]:
    """The function to call at the point `name`; empty unless the environment names that point.

    Raises `ConfigurationError` for an unknown name, here or in the environment.
    """
    _check(name)
    hits = _armed(environ.get(VARIABLE, "")).get(name)
    return _countdown(hits) if hits else lambda: None


def _countdown(hits: int) -> Callable[[], None]:
    """Kills the process at the n-th call, without clean-up of any kind."""
    calls = count(1)

    def reached() -> None:
        if next(calls) == hits:
            os.kill(os.getpid(), signal.SIGKILL)

    return reached


def _armed(setting: str) -> dict[str, int]:
    armed = {}
    for entry in filter(None, setting.split(",")):
        name, _, hits = entry.partition(":")
        _check(name)
        if not (hits or "1").isdigit() or int(hits or "1") < 1:
            raise ConfigurationError(f"{VARIABLE}: {hits!r} is no number of hits; give 1 or more")
        armed[name] = int(hits or "1")
    return armed


def _check(name: str) -> None:
    if name not in POINTS and name not in _added:
        raise ConfigurationError(
            f"{VARIABLE}: {name!r} is no crash point; use one of {', '.join(POINTS)}"
        )
