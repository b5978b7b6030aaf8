"""One message of the log as a plain value: the input of every fold, worker and replay."""

from __future__ import annotations

from typing import Self

import msgspec

from weft.log.wire import checked_traceparent, message_id
from weft_schemas.events import Event, decode_event
from weft_schemas.subjects import StoredSubject, parse_stored


class LogRecord(msgspec.Struct, frozen=True):
    """A stored message."""

    sequence: int
    """Stream sequence, from 1."""
    subject: str
    """Stored form, `w.<in|out>.<partition>.<tenant>.<session>.<event>`."""
    published_ns: int
    """Server time of storing, nanoseconds since 1970 UTC."""
    payload: bytes
    message_id: str = ""
    """`Nats-Msg-Id`, empty if the publisher gave none."""
    traceparent: str = ""
    deliveries: int = 1
    """How often a consumer delivered it; 1 in a plain replay."""
    settled: str = ""
    """Workers, separated by commas, that need not derive anything from it: an import or a fork has
    copied it together with what they derived."""

    @classmethod
    def of(
        cls,
        sequence: int,
        subject: str,
        published_ns: int,
        payload: bytes,
        block: bytes | None,
        deliveries: int = 1,
        settled: str = "",
    ) -> Self:
        """A message with its header block as it came off the wire."""
        headers = (message_id(block), checked_traceparent(block))
        return cls(sequence, subject, published_ns, payload, *headers, deliveries, settled)

    def address(self) -> StoredSubject:
        """Its subject, taken apart. Raises `InvalidInput`."""
        return parse_stored(self.subject)

    def event(self) -> Event:
        """Its payload, decoded and checked. Raises `InvalidInput`."""
        return decode_event(self.payload)
