"""The file with the result of a sign-in, shared by all gateways of a folder. It is read at each use
and replaced as a whole. One process at a time writes it, since a refresh token can be used once."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from mcp.shared.auth import OAuthToken

from weft.durable_files import replace_durably
from weft.file_lock import FileLock

_POLL_SECONDS = 0.02
_EARLY_SECONDS = 5.0
"""A token is renewed this long before it expires, so that it is valid for the request it is sent
with."""


class StoredSignIn(msgspec.Struct, frozen=True, kw_only=True):
    """The file's content: the protocol's objects, and when the token expires."""

    tokens: dict[str, Any]
    client: dict[str, Any]
    expires_at: float | None = None
    """Seconds since 1970."""
    authorization_server: dict[str, Any] | None = None
    resource: dict[str, Any] | None = None

    @property
    def access_token(self) -> str:
        return str(self.tokens.get("access_token", ""))

    @property
    def refresh_token(self) -> str:
        """The refresh token; empty if there is none."""
        return str(self.tokens.get("refresh_token") or "")


def read_sign_in(path: Path) -> StoredSignIn | None:
    """None if there was no sign-in, or the file cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=StoredSignIn)
    except (OSError, msgspec.MsgspecError):
        return None


def write_sign_in(path: Path, stored: StoredSignIn) -> None:
    """The caller must hold the lock."""
    replace_durably(path, msgspec.json.encode(stored))


@asynccontextmanager
async def locked(path: Path) -> AsyncIterator[None]:
    """Holds the lock. Only one task of one process at a time may change the file."""
    lock = FileLock(path.with_suffix(".lock"))
    await lock.acquired(_POLL_SECONDS)
    try:
        yield
    finally:
        lock.release()


def renewal_time(tokens: OAuthToken) -> float | None:
    """When to renew a token that was issued now, in seconds since 1970; None if it does not say how
    long it is valid."""
    return None if tokens.expires_in is None else time.time() + tokens.expires_in - _EARLY_SECONDS
