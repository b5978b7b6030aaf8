"""Subjects of the log: what clients publish to, and the form in which the stream stores them.

A client publishes to `weft.<tenant>.<session>.<in|out>.<event>`; the stream's subject transform
stores `w.<in|out>.<partition>.<tenant>.<session>.<event>`, so that every consumer needs one filter.
"""

from __future__ import annotations

import msgspec

from weft_schemas.errors import InvalidInput
from weft_schemas.ids import decode_token, encode_token, principal_of, principal_token

STREAM = "weft"
AUDIT_STREAM = "weft_audit"
BODIES_BUCKET = "weft_bodies"
PARTITIONS = 16

PUBLISHED = "weft.*.*.*.>"
STORED = "w.>"
TRANSFORM_DESTINATION = (
    "w.{{wildcard(3)}}."
    f"{{{{partition({PARTITIONS},1,2)}}}}."
    "{{wildcard(1)}}.{{wildcard(2)}}.>"
)
AUDIT_SUBJECTS = "weft-audit.>"

SESSION_CLOSED = "session_closed"

TIME_LEFT_HEADER = "Weft-Time-Left"
"""Header of a request that is sent again, unchanged: how many seconds of its `timeout` are left."""
REPLY_TIMEOUT_HEADER = "Weft-Reply-Timeout"
"""Header of a request: for how many seconds its requester waits for the reply."""

UNREADABLE = "@unreadable"
"""Used for a tenant or session id that is not one: a record under such a subject is counted and
parked in this session of its tenant, since any client may write any bytes into a subject."""


class StoredSubject(msgspec.Struct, frozen=True):
    """The parts of a stored subject; tenant and session are decoded ids."""

    direction: str
    """`in` or `out`."""
    partition: int
    tenant: str
    session: str
    event: str
    principal: str = ""
    """The publisher, if the subject names one: permissions can fix that token."""


def item_subject(tenant: str, session: str, kind: str, principal: str = "") -> str:
    """The subject to which an agent publishes an item of `kind` (or `session_closed`); as a
    principal, if one is given."""
    subject = f"weft.{_place(tenant, session)}.in.{kind}"
    return f"{subject}.{principal_token(principal)}" if principal else subject


def derived_subject(tenant: str, session: str, event: str) -> str:
    """The subject to which a worker publishes derived events, and an operator a tenant's own
    events."""
    return f"weft.{_place(tenant, session)}.out.{event}"


def audit_subject(tenant: str, session: str, event: str) -> str:
    """The subject under which a compile or a routing decision is recorded."""
    return f"weft-audit.{_place(tenant, session)}.{event}"


def request_subject(tenant: str, session: str, service: str, principal: str = "") -> str:
    """The subject of a service: `compile`, `drilldown`, `explain`, `route`, `hydrate`, `choose`,
    `status` or `sessions`. A principal has subjects of its own, which permissions can fix."""
    subject = f"weft-rpc.{_place(tenant, session)}.{service}"
    return f"{subject}.{principal_token(principal)}" if principal else subject


def stored_filter(
    tenant: str | None = None,
    session: str | None = None,
    direction: str = "*",
    event: str = ">",
) -> str:
    """A filter over stored subjects; parts that are left out match everything."""
    tenant_token = encode_token(tenant, "tenant") if tenant is not None else "*"
    session_token = encode_token(session, "session") if session is not None else "*"
    return f"w.{direction}.*.{tenant_token}.{session_token}.{event}"


def _place(tenant: str, session: str) -> str:
    return f"{encode_token(tenant, 'tenant')}.{encode_token(session, 'session')}"


def is_stored_as(subject: str, stored: str) -> bool:
    """Whether a message published to `subject` is stored under `stored`, whatever its partition."""
    tokens, kept = subject.split("."), stored.split(".")
    if tokens[0] != "weft" or len(tokens) < 5:
        return subject == stored
    return kept[:2] == ["w", tokens[3]] and kept[3:] == [*tokens[1:3], *tokens[4:]]


def stored_form(subject: str) -> str:
    """How a message published to `subject` is stored, except for its partition, which the server
    computes: 0 here. Any other subject stays as it is."""
    tokens = subject.split(".")
    if tokens[0] != "weft" or len(tokens) < 5:
        return subject
    return ".".join(["w", tokens[3], "0", *tokens[1:3], *tokens[4:]])


def published_form(stored: str) -> str:
    """The subject to which a message was published that is stored under `stored`."""
    tokens = stored.split(".")
    if tokens[0] != "w" or len(tokens) < 5:
        return stored
    return ".".join(["weft", *tokens[3:5], tokens[1], *tokens[5:]])


def parse_stored(subject: str) -> StoredSubject:
    """Parse a stored subject. Raises `InvalidInput` if it is not one."""
    parts = subject.split(".")
    named = len(parts) == 7 and parts[1] == "in"
    if not (len(parts) == 6 or named) or parts[0] != "w" or parts[1] not in ("in", "out"):
        raise _malformed(subject, "it has another number of parts, or another direction")
    if not parts[2].isdigit():
        raise _malformed(subject, "it is stored without the number of a partition")
    try:
        tenant, session = decode_token(parts[3]), decode_token(parts[4])
        principal = principal_of(parts[6]) if named else ""
    except InvalidInput as error:
        raise _malformed(subject, str(error)) from None
    return StoredSubject(parts[1], int(parts[2]), tenant, session, parts[5], principal)


def _malformed(stored: str, why: str) -> InvalidInput:
    return InvalidInput(
        f"it was published to {published_form(stored)[:_SHOWN]!r}, which is not "
        f"weft.<tenant>.<session>.<in|out>.<event>[.<principal>] ({why}); write an id with other "
        "characters than A-Z a-z 0-9 _ - as = and its base64url form"
    )


_SHOWN = 200
"""Characters of a subject in an error."""


def event_of(subject: str) -> str:
    """The event's name in a stored subject, empty if there is none. Never raises."""
    return ".".join(subject.split(".")[5:6])


def place_of(subject: str) -> tuple[str, str]:
    """Tenant and session under which a record is reported, whatever its subject: its own if they
    can be read, otherwise `UNREADABLE`. Never raises."""
    tokens = subject.split(".")[3:5]
    tenant, session = (_id_or_unreadable(token) for token in (*tokens, "", "")[:2])
    return tenant, session


def _id_or_unreadable(token: str) -> str:
    try:
        return decode_token(token)
    except InvalidInput:
        return UNREADABLE


def parse_request(subject: str) -> tuple[str, str, str]:
    """Tenant, session and service of a request subject. Raises `InvalidInput`."""
    parts = subject.split(".")
    if len(parts) not in (4, 5) or parts[0] != "weft-rpc":
        raise InvalidInput("the subject is not weft-rpc.<tenant>.<session>.<service>[.<principal>]")
    return decode_token(parts[1]), decode_token(parts[2]), parts[3]


def requester(subject: str) -> str:
    """The principal of a request subject, empty if it names none. Raises `InvalidInput`."""
    parts = subject.split(".")
    return principal_of(parts[4]) if len(parts) == 5 else ""
