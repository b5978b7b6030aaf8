"""A worker: a derive function with a name, and the context that the function is given.

`workers.deriver` makes a `Worker` of pure functions, and `workers.worker_loop` runs it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

import msgspec

from weft.log.consuming import HELD
from weft.log.message import Message, event_headers
from weft.log.record import LogRecord
from weft.log.topology import WORKERS
from weft.runtime.subprocess_worker import SubprocessWorker
from weft_schemas.errors import InvalidInput
from weft_schemas.events import EVENT_TYPES, Event, Origin, decode_event, encode_event
from weft_schemas.ids import derived_key, derived_message_id
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy
from weft_schemas.subjects import StoredSubject

P = ParamSpec("P")
T = TypeVar("T")

HUGE_BYTES = 128 * 1024
"""Larger texts are processed in the subprocess, so that small items do not wait behind them."""
SUSPECT_DELIVERIES = 3
"""From this delivery on an event is processed alone in the subprocess. Not from the second: most
redelivered events only happened to be held by a process that something else ended, and processing
them one at a time would be slow exactly when processes die often."""
_ROOM_FOR_HEADERS = 4_096
"""Bytes of max_payload; ours take about 400."""


class Derived(msgspec.Struct, frozen=True):
    """One event that a worker makes of a source."""

    subject: str
    """To publish to; see `subjects.derived_subject`."""
    event: Event
    part: str
    """Distinguishes several events of one source, such as `envelope`; the same in every attempt."""


class WorkContext:
    """The second argument of a derive function, after its event."""

    def __init__(
        self,
        worker: Worker,
        record: LogRecord,
        policy: tuple[int, ContextPolicy],
        subprocess_worker: SubprocessWorker,
        untrusted_at: Callable[[int], tuple[ItemKind, ...]],
        run: str = "",
    ) -> None:
        """`untrusted_at` gives the kinds that get an envelope at a sequence. `run` names the
        re-derivation that this belongs to; it is empty for live work."""
        self.policy_version, self.policy = policy
        self._untrusted_at = untrusted_at
        self._run = run
        self._worker = worker
        self.record = record
        self._subprocess_worker = subprocess_worker

    def is_untrusted(self, item: ContextItem, sequence: int = 0) -> bool:
        """Whether an item gets an envelope: by the policy that held at the item's own sequence, not
        by the one in force now. `sequence` is needed if it is not this event's item."""
        if sequence or self._run:
            return item.kind in self._untrusted_at(sequence or self.record.sequence)
        # Live work is done under the policy at the event's sequence.
        return item.kind in self.policy.firewall.untrusted_kinds

    def origin(self, item_id: str = "", sequence: int = 0) -> Origin:
        """The origin of a derived event: this event, unless `sequence` names another."""
        return Origin(
            sequence=sequence or self.record.sequence,
            item_id=item_id,
            worker=self._worker.name,
            worker_version=self._worker.version,
            policy_version=self.policy_version,
            run=self._run,
        )

    async def compute(
        self, size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """`work(*args)`: here for an ordinary event; in the subprocess if it is huge (`size` in
        bytes) or was delivered so often that it may be what killed a worker."""
        if size > HUGE_BYTES or self.record.deliveries >= SUSPECT_DELIVERIES:
            return await self._subprocess_worker.run(work, *args, **kwargs)
        return work(*args, **kwargs)


Derive = Callable[[LogRecord, StoredSubject, Event, WorkContext], Awaitable[list[Derived]]]
DeriveAtOnce = Callable[[LogRecord, StoredSubject, Event, WorkContext], list[Derived] | None]


def _nothing_at_once(*_: object) -> None:
    return None


def _anything(_: Event) -> bool:
    return True


class Worker(msgspec.Struct, frozen=True):
    """One kind of worker: its name is that of its durable consumer."""

    name: str
    version: str
    derive: Derive
    """An `InvalidInput` that it raises parks the source at once; any other error is retried."""
    at_once: DeriveAtOnce = _nothing_at_once
    """`derive` without waiting: returns None for events that have to wait for something. Called for
    first deliveries only. A task for each event would take a tenth of a small event's time."""
    takes: Callable[[Event], bool] = _anything
    """Whether it may derive anything of such an event, under whatever policy."""
    names: frozenset[str] = frozenset((*ItemKind, *EVENT_TYPES))
    """Last tokens of the subjects of such events."""
    reports: str = ""
    """`in` or `out`: the direction whose undecodable events this worker parks, empty for none. One
    worker reports each direction, so that a malformed event is parked once and not three times."""
    filter: str = "w.>"
    """Filter of its durable consumer, over stored subjects. The consumer of a worker that is not
    weft's own is created with it."""
    concurrency: int = HELD
    """How many events one process has in work at a time, at most."""
    key: bytes = b""
    """The deployment's key for the ids of derived events."""

    def keyed(self, secret: str) -> Worker:
        """The same in a deployment with this secret."""
        return msgspec.structs.replace(self, key=derived_key(secret.encode(), "message ids"))


def derived_message(
    worker: Worker, record: LogRecord, derived: Derived, policy_version: int, limit: int
) -> Message:
    """The message to publish: the same source, worker, policy and run give the same message id.

    Raises `InvalidInput` if it is larger than the server's `limit` in bytes, or if a worker that is
    not weft's own has made what no reader of the log accepts.
    """
    origin = getattr(derived.event, "origin", None)
    message_id = derived_message_id(
        origin.sequence if origin else record.sequence,
        worker.name,
        worker.version,
        policy_version,
        origin.run if origin else "",
        derived.part,
        worker.key,
    )
    payload = encode_event(derived.event)
    if worker.name not in WORKERS:
        _check_readable(worker, record, derived, payload)
    if len(payload) > limit - _ROOM_FOR_HEADERS:
        raise InvalidInput(
            f"the {derived.part} of event {record.sequence} has {len(payload)} bytes, over the "
            f"server's {limit - _ROOM_FOR_HEADERS}; shorten what is derived, or raise max_payload"
        )
    tag = str(type(derived.event).__struct_config__.tag)
    headers = event_headers(message_id, f"weft.{tag}", f"/weft/{worker.name}", record.traceparent)
    return Message(derived.subject, payload, message_id, headers)


def _check_readable(worker: Worker, record: LogRecord, derived: Derived, payload: bytes) -> None:
    """A Struct does not check the types of its fields, so only reading it back tells."""
    try:
        decode_event(payload)
    except InvalidInput as error:
        raise InvalidInput(
            f"worker {worker.name!r} derived a {derived.part} of event {record.sequence} that "
            f"nobody can read: {error}"
        ) from None
