"""What a replica says of itself: how far it has folded, what collided, waits or is parked."""

from __future__ import annotations

import msgspec

LISTED = 100
"""Most collisions, pending items and parked sources that a reply lists, newest first; the counts
are of all."""

ASKED = 1_000
"""Most ids of one request."""

HISTORY = 10_000
"""Most ids that a reply lists of a session's history."""


class StatusRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tenant and session stand in the subject; the reserved session asks for the whole tenant."""

    after: int = 0
    """Wait until this sequence is folded."""
    first: int = 0
    last: int = 0
    """List all collisions with `first <= sequence <= last`; 0 and 0 lists the newest."""
    ids: tuple[str, ...] = ()
    """Items whose place is asked for, at most `ASKED`."""
    timeout: float = 2.0
    """Seconds that `after` may take."""
    processes: bool | msgspec.UnsetType = msgspec.UNSET
    """Ask every process how it is; takes half a second."""
    newest: bool | msgspec.UnsetType = msgspec.UNSET
    """Wait until all is folded that the log holds when this request comes."""
    v: int = 1
    history: bool | msgspec.UnsetType = msgspec.UNSET
    """Of a session: list the ids of the items that were made of messages, see `weft.messages`."""


class Collision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item whose id was taken in its session."""

    session: str
    item_id: str
    sequence: int
    """Of the later item, which does not count."""
    first_sequence: int
    """Of the one that counts."""
    conflict: bool
    """It has other content; false for the same content once more."""


class Waiting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An untrusted item without its envelope."""

    session: str
    item_id: str
    sequence: int


class DeadLetter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A source that a worker gave up."""

    session: str
    sequence: int
    """Of the source."""
    item_id: str
    worker: str
    code: str
    error: str
    attempts: int


class ProcessState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A process of weft, by its own account."""

    service: str
    """Such as `firewall` or `compiler`."""
    host: str
    pid: int
    ready: bool
    """It does its work."""
    answers: bool = False
    """It takes requests: a compiler does once its read model has caught up with the log."""
    lag: int = 0
    """Events published and not finished by this process, or by those of its kind together."""
    port: int = 0
    """On its host, where it serves `/metrics`, `/ready` and `/live`."""
    complaint: str = ""
    """Why it is not ready."""
    last_error: str = ""
    """What last went wrong in it, mended or not; empty where nothing did since it started."""


class StatusReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tenant: str
    session: str | None
    """Null for the whole tenant."""
    sequence: int
    """Folded up to here: the watermark of the replica that answers."""
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
    """Id asked for → sequence of the item that counts under it; unknown ones are absent."""
    processes: tuple[ProcessState, ...] | msgspec.UnsetType = msgspec.UNSET
    """Those that answered, where they are asked for."""
    rebuilt: str | msgspec.UnsetType = msgspec.UNSET
    """Why the replica that answers last built its read model anew; unset where it never had to."""
    v: int = 1
    history: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """The latest `HISTORY` ids of items that were made of messages, in order, where they are asked
    for."""


class SessionsRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tenant's sessions, by name; asked under the reserved session."""

    beyond: str = ""
    """Begin with the first name after this one: `SessionsReply.next` of the page before."""
    limit: int = LISTED
    """Most of one page, up to 1,000."""
    v: int = 1


class SessionSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One session, as far as it is folded."""

    session: str
    items: int
    last_sequence: int
    """Of its newest item."""
    last_ns: int
    """When that was published, nanoseconds since 1970 UTC."""
    closed: bool
    """Nothing came since it was last closed."""


class SessionsReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tenant: str
    sessions: tuple[SessionSummary, ...]
    sequence: int
    """Folded up to here."""
    next: str | None = None
    """For `beyond` of the following page; null on the last."""
    v: int = 1
