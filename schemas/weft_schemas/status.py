"""A replica's own report: how far it has folded, and what collided, is pending or is parked."""

from __future__ import annotations

import msgspec

LISTED = 100
"""Most collisions, pending items and parked sources in a reply, the newest first; the counts are
complete."""

ASKED = 1_000
"""Most ids of one request."""

HISTORY = 10_000
"""Most ids in a reply's list of a session's history."""


class StatusRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tenant and session are in the subject; the reserved session means the whole tenant."""

    after: int = 0
    """Wait until this sequence is folded."""
    first: int = 0
    last: int = 0
    """List all collisions with `first <= sequence <= last`; 0 and 0 lists the newest."""
    ids: tuple[str, ...] = ()
    """Ids of items whose place is requested, at most `ASKED`."""
    timeout: float = 2.0
    """How many seconds to wait for `after`."""
    processes: bool | msgspec.UnsetType = msgspec.UNSET
    """Ask every process for its state; takes half a second."""
    newest: bool | msgspec.UnsetType = msgspec.UNSET
    """Wait until everything is folded that the log contains when this request arrives."""
    v: int = 1
    history: bool | msgspec.UnsetType = msgspec.UNSET
    """For a session: list the ids of the items that were made from messages, see
    `weft.messages`."""
    contents: tuple[tuple[str, str], ...] | msgspec.UnsetType = msgspec.UNSET
    """For a session: pairs of an item's id and its `content_digest`, at most `ASKED`. The places of
    these ids are requested, and which of them belong to other content. If the session was erased,
    the reply is a `Conflict`; so it is with `history`."""
    facts: str | msgspec.UnsetType = msgspec.UNSET
    """A memory scope whose facts in force are requested; it must be granted to the requester."""


class Collision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item whose id was taken in its session."""

    session: str
    item_id: str
    sequence: int
    """Sequence of the later item, which does not count; 0 if the log does not contain it."""
    first_sequence: int
    """Sequence of the one that counts."""
    conflict: bool
    """It has other content; false if the content is the same."""


class Waiting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An untrusted item without its envelope."""

    session: str
    item_id: str
    sequence: int


class DeadLetter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A source that a worker gave up."""

    session: str
    sequence: int
    """Sequence of the source."""
    item_id: str
    worker: str
    code: str
    error: str
    attempts: int


class ProcessState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A process of weft, as it reports itself."""

    service: str
    """For example `firewall` or `compiler`."""
    host: str
    pid: int
    ready: bool
    """It is working."""
    answers: bool = False
    """It takes requests: a compiler does once its read model has caught up with the log."""
    lag: int = 0
    """Events published and not finished by this process, or by all processes of its kind."""
    port: int = 0
    """The port on its host for `/metrics`, `/ready` and `/live`."""
    complaint: str = ""
    """Why it is not ready."""
    last_error: str = ""
    """Its last error with its time (UTC), corrected or not; empty if there was none since it
    started."""


class KnownFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fact in force of a scope."""

    key: str
    value: str
    sequence: int
    """Of the item that said it last."""
    sources: tuple[str, ...]
    """Ids of the items that said it."""
    session: str
    """Their session."""
    sensitivity: str
    by_user: bool = False
    """Whether a user's words taught it; otherwise the application gave it."""
    said_later: str = ""
    """What the user has said since of a fact that the application gave: another value, `not` the
    value, or `forget it`."""


class StatusReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is folded of a tenant or of one session: counts, what waits, what was given up."""

    tenant: str
    session: str | None
    """Null for the whole tenant."""
    sequence: int
    """Folded up to this sequence: the watermark of the replica that answers."""
    encoding: str
    sessions: int = 0
    items: int = 0
    duplicates: int = 0
    conflicts: int = 0
    pending: int = 0
    parked: int = 0
    collisions: tuple[Collision, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    dead_letters: tuple[DeadLetter, ...] = ()
    places: dict[str, int] = {}
    """Requested id → sequence of the item that counts under it; unknown ids are absent."""
    processes: tuple[ProcessState, ...] | msgspec.UnsetType = msgspec.UNSET
    """The processes that answered, if they were requested."""
    rebuilt: str | msgspec.UnsetType = msgspec.UNSET
    """Why the answering replica last rebuilt its read model; unset if it never had to."""
    v: int = 1
    history: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """The latest `HISTORY` ids of items that were made from messages, in order, if they were
    requested."""
    others: tuple[Collision, ...] | msgspec.UnsetType = msgspec.UNSET
    """Of the requested `contents`, those whose id belongs to other content."""
    facts: tuple[KnownFact, ...] | msgspec.UnsetType = msgspec.UNSET
    """Of the requested scope, by key, those below the sensitivity floor."""


class SessionsRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks for the tenant's sessions, by name; sent under the reserved session."""

    beyond: str = ""
    """Begin with the first name after this one: `SessionsReply.next` of the page before."""
    limit: int = LISTED
    """Most sessions on one page, up to 1,000."""
    v: int = 1


class SessionSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One session, as far as it is folded."""

    session: str
    items: int
    last_sequence: int
    """Sequence of its newest item."""
    last_ns: int
    """When that was published, in nanoseconds since 1970 UTC."""
    closed: bool
    """There was no item since it was last closed."""


class SessionsReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One page of the tenant's sessions, by name."""

    tenant: str
    sessions: tuple[SessionSummary, ...]
    sequence: int
    """Folded up to this sequence."""
    next: str | None = None
    """For `beyond` of the next page; null on the last one."""
    v: int = 1
