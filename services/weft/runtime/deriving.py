"""What a worker is made of: a derive function with a name, and what that function may know.

Services hand in pure functions; their `worker.py` wraps them in a `Worker`, and `runtime.worker`
runs it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

import msgspec

from weft.log.record import LogRecord
from weft.runtime.lane import Lane
from weft_schemas.events import Event, Origin
from weft_schemas.policy import ContextPolicy
from weft_schemas.subjects import Stored

P = ParamSpec("P")
T = TypeVar("T")

HUGE_BYTES = 128 * 1024
"""Text above this is worked in the subprocess, so that small items are not held up behind it."""


class Derived(msgspec.Struct, frozen=True):
    """One event that a worker makes of a source."""

    subject: str
    """To publish to; see `subjects.derived_subject`."""
    event: Event
    part: str
    """Tells several events of one source apart, such as `envelope`; the same in every attempt."""


class WorkContext:
    """What a derive function may know besides its event."""

    def __init__(
        self, worker: Worker, record: LogRecord, policy: tuple[int, ContextPolicy], lane: Lane
    ) -> None:
        self.policy_version, self.policy = policy
        self._worker = worker
        self._record = record
        self._lane = lane

    def origin(self, item_id: str = "", sequence: int = 0, run: str = "") -> Origin:
        """The origin of what is derived: from this event, unless `sequence` names another."""
        return Origin(
            sequence=sequence or self._record.sequence,
            item_id=item_id,
            worker=self._worker.name,
            worker_version=self._worker.version,
            policy_version=self.policy_version,
            run=run,
        )

    async def compute(
        self, size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """`work(*args)`: here for an ordinary event, in the subprocess where it is huge (`size` in
        bytes) or was delivered before, when it may be what took a worker down."""
        if size > HUGE_BYTES or self._record.deliveries > 1:
            return await self._lane.run(work, *args, **kwargs)
        return work(*args, **kwargs)


Derive = Callable[[LogRecord, Stored, Event, WorkContext], Awaitable[list[Derived]]]


class Worker(msgspec.Struct, frozen=True):
    """One kind of worker: its name is that of its durable consumer."""

    name: str
    version: str
    derive: Derive
    """Raises where it cannot: `InvalidInput` parks the source at once, anything else is tried
    again."""
    reports: str = ""
    """`in` or `out`: the direction whose undecodable events this worker parks, empty for none. One
    worker reports each direction, so that a malformed event is parked once and not three times."""
