"""Stable names for things: message ids, artifact handles, subject tokens. Pure functions."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Callable
from functools import lru_cache

from weft_schemas.errors import InvalidInput

_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,128}\Z")
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_ENCODED = re.compile(r"=[A-Za-z0-9_-]+\Z")

TENANT_SESSION = "@tenant"
"""The reserved session token that carries a tenant's own events: policies, catalogues, receipts."""


OPERATOR = "@operator"
"""The principal of a tenant's operators, in the subjects of requests: no name can be written so."""


def encode_token(name: str) -> str:
    """A tenant or session id as one subject token, reversibly.

    Ids of up to 128 characters of `[A-Za-z0-9_-]` stay as they are; any other becomes `=` and
    its base64url form. Raises `InvalidInput` for an empty id or one over 256 bytes.
    """
    if _PLAIN.match(name):
        return name
    if name == TENANT_SESSION:
        return name
    try:
        raw = name.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"id {name!r} is not valid Unicode; rename it") from None
    if not 1 <= len(raw) <= 256:
        raise InvalidInput(f"id {name[:40]!r} is {len(raw)} bytes; give 1 to 256")
    return "=" + base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode_token(token: str) -> str:
    """The id behind a subject token; the inverse of `encode_token`, and of nothing else.

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
    """Who publishes or asks, as the last token of a subject, which permissions can pin."""
    return OPERATOR if name == OPERATOR else encode_token(name)


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
    state = hashlib.sha256()
    for part in parts:
        raw = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        state.update(b"%d:" % len(raw))
        state.update(raw)
    return state.hexdigest()


def is_digest(text: str) -> bool:
    """Whether it is a SHA-256 as a reference to a body writes it: 64 small hex digits."""
    return _DIGEST.match(text) is not None


@lru_cache(maxsize=64)
def derived_key(secret: bytes, purpose: str) -> bytes:
    """A key of its own for one purpose, out of a secret; empty where there is no secret."""
    return hmac.digest(secret, purpose.encode(), "sha256") if secret else b""


def item_message_id(
    tenant: str, session: str, item_id: str, payload: bytes, key: bytes = b""
) -> str:
    """`Nats-Msg-Id` of an agent's item: the same id with other content gets another one."""
    return item_message_ids(tenant, session, key)(item_id, payload)


def item_message_ids(tenant: str, session: str, key: bytes = b"") -> Callable[[str, bytes], str]:
    """`item_message_id` for many items of one session, what they share hashed once.

    The server takes ids of one name for one message, whoever published it under whatever subject.
    With a `key`, nobody without it can tell an id beforehand and take it.
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
    """`Nats-Msg-Id` of a derived event: a redelivered source derives the same ids again. `key` is
    the deployment's, without which nobody can tell them beforehand."""
    parts = (source_sequence, worker, worker_version, policy_version, run, part)
    return digest("out", *((key.hex(),) if key else ()), *parts)[:32]


def body_name(tenant: str, sha256: str) -> str:
    """The name, in the object store, of a tenant's body: HMAC of its digest under the tenant. Who
    knows the digest of another tenant's body has a name that is not there."""
    return "b" + hmac.digest(tenant.encode(), bytes.fromhex(sha256), "sha256").hex()


def artifact_handle(tenant: str, session: str, item_id: str, key: bytes = b"") -> str:
    """The handle of an item's raw body: `art:` and 50 bits in base32. The same in every replay,
    on every replica; looked up within one tenant. Without the `key`, which is the deployment's,
    nobody can make one of names that he knows."""
    named = digest("artifact", *((key.hex(),) if key else ()), tenant, session, item_id)
    return "art:" + base64.b32encode(bytes.fromhex(named[:14])).decode().lower()[:10]


def handle_key(secret: bytes) -> bytes:
    """What keys the handles of a deployment with this secret."""
    return derived_key(secret, "handles")
