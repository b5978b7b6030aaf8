"""The log knows its deployment's secret by a keyed check value in its metadata, so that a process
with another one is refused instead of making handles, fences and ids that nobody else finds."""

from __future__ import annotations

from typing import Any

from weft_schemas.errors import ConfigurationError
from weft_schemas.ids import derived_key

METADATA = "weft.secret"
"""Name in the stream's metadata."""
_DIGITS = 16
"""Of the hex digest: 64 bits tell secrets apart, and say nothing about a random one."""


def secret_check(secret: str) -> str:
    """The check value of a secret; empty if there is none."""
    return derived_key(secret.encode(), "check").hex()[:_DIGITS]


def check_secret(config: dict[str, Any], secret: str) -> None:
    """Raises `ConfigurationError` if a stream's configuration names another secret than this one.
    One that names none fits every secret."""
    known = (config.get("metadata") or {}).get(METADATA)
    if known and secret and known != secret_check(secret):
        raise ConfigurationError(
            "this log belongs to a deployment with another secret: use its data folder (--data, "
            "WEFT_DATA_DIR), copy the file `secret` from there, or set its WEFT_FINGERPRINT_KEY. "
            "If the secret was changed on purpose, `weft provision --new-secret` says so to the log"
        )
