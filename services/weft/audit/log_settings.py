"""Dangerous settings of streams and consumers that somebody else made: `weft provision` sets none
of them."""

from __future__ import annotations

import time
from collections.abc import Iterator

from weft.log.reading import nanoseconds
from weft.log.secure_delete import FORBIDDING, HOW_TO_ALLOW
from weft.log.topology import Topology
from weft_schemas.subjects import STREAM


def dangers(have: Topology) -> Iterator[tuple[str, str]]:
    """Settings that weft did not make and that lose events, keep them from being erased, or let
    them wait for ever: for each, what it is and what to do."""
    for name, config in have.streams.items():
        limited = [one for one in ("max_msgs", "max_bytes") if config.get(one, -1) > 0]
        if config.get("discard") != "new" and limited:
            what = f"stream {name} deletes its oldest messages at its limit (discard is 'old', "
            yield f"{what}{limited[0]} is {config[limited[0]]})", "`weft provision` ends that"
        for one in FORBIDDING:
            if config.get(one):
                yield f"stream {name} has {one}: nothing can be erased from it", HOW_TO_ALLOW
    for name, config in have.consumers.items():
        until = config.get("pause_until")
        if until and nanoseconds(until) > time.time_ns():
            yield (
                f"consumer {STREAM}/{name} is paused until {until}",
                (f"resume it: nats consumer resume {STREAM} {name}"),
            )
