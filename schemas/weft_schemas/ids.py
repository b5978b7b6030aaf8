"""Stable names: message ids, artifact handles, subject tokens. Pure functions."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from weft_schemas.errors import InvalidInput

_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,128}\Z")
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_ENCODED = re.compile(r"=[A-Za-z0-9_-]+\Z")

TENANT_SESSION = "@tenant"
"""The reserved session token for a tenant's own events: policies, catalogues, receipts."""


OPERATOR = "@operator"
"""The principal of a tenant's operators in the subjects of requests: no name is written like
this."""


def session_scope(session: str) -> str:
    """The memory scope of what only this session remembers."""
    return f"session:{session}"


class SessionName(NamedTuple):
    """What names a session: two tenants may give the same id."""

    tenant: str
    session: str

    @property
    def scope(self) -> str:
        """The memory scope of what only this session remembers."""
        return session_scope(self.session)


def encode_token(name: str, what: str = "id") -> str:
    """A tenant or session id as one subject token, reversibly.

    Ids of up to 128 characters of `[A-Za-z0-9_-]` stay as they are; any other becomes `=` and its
    base64url form. Raises `InvalidInput` that calls it `what` for an empty id, one longer than 256
    bytes, or one that is no text.
    """
    if not isinstance(name, str):
        raise InvalidInput(f"{what} {name!r:.40} is of type {type(name).__name__}; give a str")
    if _PLAIN.match(name):
        return name
    if name == TENANT_SESSION:
        return name
    try:
        raw = name.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{what} {name!r} is not valid Unicode; rename it") from None
    if not 1 <= len(raw) <= 256:
        raise InvalidInput(f"{what} {name[:40]!r} is {len(raw)} bytes; give 1 to 256")
    return "=" + base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode_token(token: str) -> str:
    """The id behind a subject token: the inverse of `encode_token`.

    Raises `InvalidInput` for a token that `encode_token` never makes.
    """
    if _PLAIN.match(token) or token == TENANT_SESSION:
        return token
    if _ENCODED.match(token):
        try:
            name = base64.urlsafe_b64decode(token[1:] + "=" * (-len(token[1:]) % 4)).decode()
            if name != TENANT_SESSION and encode_token(name) == token:
                return name
        except (ValueError, InvalidInput):
            pass
    raise InvalidInput("a token of the subject is not a tenant or session id; see encode_token")


def principal_token(name: str) -> str:
    """The publisher or requester, as the last token of a subject, which permissions can fix."""
    return OPERATOR if name == OPERATOR else encode_token(name, "principal")


def principal_of(token: str) -> str:
    """The inverse. Raises `InvalidInput` for a token that `principal_token` never makes."""
    if token == OPERATOR:
        return OPERATOR
    name = decode_token(token)
    if name in (OPERATOR, TENANT_SESSION):
        raise InvalidInput("a principal of the subject has a reserved name; see principal_token")
    return name


def digest(*parts: str | bytes | int) -> str:
    """Hex SHA-256 over length-prefixed parts, so that no two lists of parts collide."""
    raws = [
        part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        for part in parts
    ]
    return hashlib.sha256(b"".join([b"%d:%b" % (len(raw), raw) for raw in raws])).hexdigest()


def is_digest(text: str) -> bool:
    """Whether it is a SHA-256 in the form of a reference to a body: 64 lower-case hex digits."""
    return _DIGEST.match(text) is not None


@lru_cache(maxsize=64)
def derived_key(secret: bytes, purpose: str) -> bytes:
    """A separate key for one purpose, derived from a secret; empty if there is no secret."""
    return hmac.digest(secret, purpose.encode(), "sha256") if secret else b""


def item_message_id(
    tenant: str, session: str, item_id: str, payload: bytes, key: bytes = b""
) -> str:
    """`Nats-Msg-Id` of an agent's item: the same id with other content gives another one."""
    return item_message_ids(tenant, session, key)(item_id, payload)


def item_message_ids(tenant: str, session: str, key: bytes = b"") -> Callable[[str, bytes], str]:
    """`item_message_id` for many items of one session; their common part is hashed once.

    The server takes equal message ids for the same message, whoever published it under whatever
    subject. With a `key`, nobody without it can predict an id and use it first.
    """
    shared = hmac.new(key, digestmod=hashlib.sha256) if key else hashlib.sha256()
    for part in (b"item", tenant.encode(), session.encode()):
        shared.update(b"%d:%b" % (len(part), part))

    def name(item_id: str, payload: bytes) -> str:
        state = shared.copy()
        raw = item_id.encode("utf-8", "surrogatepass")
        state.update(b"%d:%b%d:%b" % (len(raw), raw, len(payload), payload))
        return state.hexdigest()[:32]

    return name


def derived_message_id(
    source_sequence: int,
    worker: str,
    worker_version: str,
    policy_version: int,
    run: str,
    part: str,
    key: bytes = b"",
) -> str:
    """`Nats-Msg-Id` of a derived event: a redelivered source gives the same ids again. `key` is the
    deployment's; without it nobody can predict them."""
    parts = (source_sequence, worker, worker_version, policy_version, run, part)
    return digest("out", *((key.hex(),) if key else ()), *parts)[:32]


def body_name(tenant: str, sha256: str) -> str:
    """The name of a tenant's body in the object store: HMAC of its digest under the tenant. Knowing
    the digest of another tenant's body gives a name that does not exist."""
    return "b" + hmac.digest(tenant.encode(), bytes.fromhex(sha256), "sha256").hex()


def artifact_handle(tenant: str, session: str, item_id: str, key: bytes = b"") -> str:
    """The handle of an item's raw body: `art:` and 50 bits in base32. It is the same in every
    replay and on every replica, and is looked up within one tenant. Without the deployment's `key`,
    nobody can compute it from known names."""
    named = digest("artifact", *((key.hex(),) if key else ()), tenant, session, item_id)
    return "art:" + base64.b32encode(bytes.fromhex(named[:14])).decode().lower()[:10]


def handle_key(secret: bytes) -> bytes:
    """The key for the handles of a deployment with this secret."""
    return derived_key(secret, "handles")
