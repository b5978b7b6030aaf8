"""What HTTP adds to the contract: queries in addresses, and replies that hold several things."""

from __future__ import annotations

from typing import Any

import msgspec

from weft.client.confirmation import Confirmation
from weft.client.histories import OnEdit
from weft.client.outgoing import PublishAck
from weft.messages.reading import Format
from weft.messages.writing import Provider
from weft_schemas.compile import CompileRequest, ContextPack
from weft_schemas.status import LISTED

EVENTS_LISTED = 100
MAX_EVENTS = 1_000
"""Of one page."""


class PublishQuery(msgspec.Struct, frozen=True):
    confirm: bool = False
    """Wait until the items are folded, and tell which were there before and which lost their id to
    other content."""


class Published(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything is stored."""

    ack: PublishAck
    confirmation: Confirmation | msgspec.UnsetType = msgspec.UNSET
    """Where it was asked for."""


class MessagesBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole history, as a framework hands it over at every step."""

    messages: list[dict[str, Any]] | dict[str, Any]
    """In the form of a provider; an object is a whole request with its system prompt."""
    format: Format = "auto"
    on_edit: OnEdit = "report"
    """Whether a changed message of the past is told in `conflicts`, or refused with 409 before
    anything is published."""


class Closing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The session has ended."""

    reason: str = "closed"


class Closed(msgspec.Struct, frozen=True):
    """The session is closed, and its closing stored."""

    session: str
    sequence: int
    """Of the event in the log."""


class CompileQuery(msgspec.Struct, frozen=True):
    provider: Provider | None = None
    """Have the same items as a request to this provider, too."""


class Compiled(msgspec.Struct, frozen=True, omit_defaults=True):
    """A compiled context."""

    pack: ContextPack
    request: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    """With `provider`: the messages (for Anthropic with `system`) to send to it; add your own
    model, tools and system prompt."""
    left_out: dict[str, int] = {}
    """How many images, recordings and files of the items have only a placeholder here, by kind: the
    model does not see them unless you put them into the request."""


class Progress(msgspec.Struct, frozen=True):
    """What a compile still waits for."""

    sequence: int
    """Folded up to here."""
    after: int
    """The sequence that is waited for."""
    pending: int
    """Items of the session without their envelope."""
    items: tuple[str, ...]
    """Ids of those, the newest first, at most 100."""


class ExplainBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which item, and of which compile."""

    item_id: str
    request: CompileRequest


class RouteQuery(msgspec.Struct, frozen=True):
    session: str | None = None
    """Its experience with the tools counts."""


class SessionsQuery(msgspec.Struct, frozen=True):
    beyond: str = ""
    """`next` of the page before."""
    limit: int = LISTED
    """Most of one page, up to 1,000."""


class StatusQuery(msgspec.Struct, frozen=True):
    processes: bool = False
    """Ask every process how it is; takes half a second."""


class EventsQuery(msgspec.Struct, frozen=True):
    first: int = 1
    """Sequence to begin at; `Last-Event-ID` goes before it."""
    limit: int = EVENTS_LISTED
    """Most of one page, up to 1,000; a stream has no end."""


class LogEvent(msgspec.Struct, frozen=True):
    """One event of a session as it stands in the log."""

    sequence: int
    published_ns: int
    """Nanoseconds since 1970 UTC."""
    direction: str
    """`in` (published by agents) or `out` (derived by workers)."""
    kind: str
    """Of the subject: the item's kind, or the event's type."""
    message_id: str
    event: msgspec.Raw | None
    """The JSON as published; null where it is none."""


class EventPage(msgspec.Struct, frozen=True):
    """One page of a session's events."""

    events: tuple[LogEvent, ...]
    next: int | None
    """`first` of the following page; null where there was no more."""
