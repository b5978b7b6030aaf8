"""When a worker gives up on a source event, and the event that records this. The source is a dead
letter from then on. Pure functions.

The server never gives up a message: `max_deliver` is unlimited, since a message that runs out of
deliveries disappears silently. These rules give up instead, and the log records it.
"""

from __future__ import annotations

import msgspec

from weft.log.record import LogRecord
from weft.runtime.logs import safe_error
from weft_schemas.errors import InvalidInput, WeftError
from weft_schemas.events import Origin, ParkedEvent, RevivedEvent
from weft_schemas.items import MAX_ID_BYTES
from weft_schemas.lone_surrogates import is_encodable
from weft_schemas.subjects import derived_subject, place_of

MAX_ATTEMPTS = 5
"""Failed attempts after which a source is parked: four retries outlast a passing fault."""
MAX_DELIVERIES = 25
"""Deliveries after which a source is parked without another attempt. Far above `MAX_ATTEMPTS`,
since a delivery can be lost through no fault of the source: its process was killed, or too busy to
extend the ack wait. With 8, some minutes of kills on a busy machine parked healthy events. Errors
that a later attempt may fix are retried for some 20 minutes."""
MAX_ERROR_CHARACTERS = 500

_FIRST_DELAY = 0.25
_DELAY_GROWTH = 3.0
_MAX_DELAY = 60.0


class GivenUp(WeftError):
    """A source that was delivered again and again and never finished."""

    code = "given_up"


def retry_delay(deliveries: int) -> float:
    """Seconds until the next attempt after `deliveries` of them: 0.25, 0.75, 2.25, 6.75, …, 60."""
    # Any number of deliveries is possible, and no float holds 3 ** 647.
    steps = min(deliveries, MAX_DELIVERIES) - 1
    return float(min(_MAX_DELAY, _FIRST_DELAY * _DELAY_GROWTH**steps))


def worn_out(record: LogRecord) -> GivenUp | None:
    """Why the record is parked without another attempt; None if it is to be processed."""
    if record.deliveries <= MAX_DELIVERIES:
        return None
    return GivenUp(
        f"event {record.sequence} was delivered {record.deliveries - 1} times and never finished; "
        "look at it, then replay or drop it"
    )


def is_final(error: BaseException, deliveries: int) -> bool:
    """Whether an error of the work parks the source now.

    Malformed input stays malformed; a `retryable` error is retried until `MAX_DELIVERIES`.
    """
    if isinstance(error, InvalidInput):
        return True
    if isinstance(error, WeftError) and error.retryable:
        return False
    return deliveries >= MAX_ATTEMPTS


def is_reported(record: LogRecord, direction: str) -> bool:
    """Whether a record that cannot be read is parked by the worker that reports this direction.

    A parked event never is: parking it would publish another one, for ever. A record with no
    direction goes with those of `out`, whose worker alone gets all records.
    """
    subject = record.subject
    if not subject.startswith(("w.in.", "w.out.")):
        return direction == "out"
    is_parked = subject.startswith("w.out.") and subject.endswith(".parked")
    return subject.startswith(f"w.{direction}.") and not is_parked


class _ItemId(msgspec.Struct):
    id: str = ""


def parked_event(
    record: LogRecord, error: BaseException, worker: str, worker_version: str
) -> ParkedEvent:
    """The event that names the source and the reason."""
    # The message may quote the very text that cannot be encoded.
    printable = safe_error(error).encode("utf-8", "replace").decode()
    return ParkedEvent(
        origin=Origin(
            sequence=record.sequence,
            item_id=_item_id(record),
            worker=worker,
            worker_version=worker_version,
        ),
        code=error.code if isinstance(error, WeftError) else "failed",
        error=printable[:MAX_ERROR_CHARACTERS],
        attempts=record.deliveries,
    )


def parked_subject(record: LogRecord) -> str:
    """Where the event goes: the source's own tenant and session, as far as they can be read."""
    return derived_subject(*place_of(record.subject), "parked")


def revives(event: RevivedEvent, worker: str) -> bool:
    """Whether the event tells this worker to process the source again."""
    return not event.drop and event.origin.worker in ("", worker)


def same_session(one: LogRecord, other: LogRecord) -> bool:
    """Whether both are in the same session of the same tenant."""
    return place_of(one.subject) == place_of(other.subject)


def _item_id(record: LogRecord) -> str:
    """The id of the item in the payload, empty if there is none that an event may hold."""
    if not record.subject.startswith("w.in."):
        return ""
    try:
        name = msgspec.json.decode(record.payload, type=_ItemId).id
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    return name if is_encodable(name) and len(name.encode()) <= MAX_ID_BYTES else ""
