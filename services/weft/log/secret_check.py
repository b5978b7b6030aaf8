"""The log knows its deployment's secret by a keyed check value in its metadata, so that a process
with another one is refused instead of making handles, fences and ids that nobody else finds."""

from __future__ import annotations

from typing import Any

import msgspec

from weft.log.api import call, config_of
from weft.log.connection import Connection
from weft.log.reading import last_of
from weft_schemas.errors import ConfigurationError, InvalidInput, NotFound
from weft_schemas.events import EnvelopeEvent
from weft_schemas.ids import artifact_handle, derived_key, handle_key
from weft_schemas.subjects import STREAM, stored_filter

METADATA = "weft.secret"
"""Name in the stream's metadata."""
_DIGITS = 16
"""Of the hex digest: 64 bits tell secrets apart, and say nothing about a random one."""
UNMARKED = (
    "the log is not marked with its deployment's secret: there is none here, or nothing proves "
    "that it is that of the events in the log. `weft provision` with WEFT_FINGERPRINT_KEY set to "
    "the deployment's secret marks it; until then, no process with another one is refused"
)


class DeploymentSecret(msgspec.Struct, frozen=True):
    """The deployment's secret, as the process that provisions the log knows it."""

    value: str = ""
    is_given: bool = False
    """Set for this log on purpose, not merely found in the data folder."""
    is_new: bool = False
    """It replaces the one that the log is marked with."""


def secret_check(secret: str) -> str:
    """The check value of a secret; empty if there is none."""
    return derived_key(secret.encode(), "check").hex()[:_DIGITS]


def mark_of(config: dict[str, Any]) -> str:
    """The check value in a stream's configuration; empty if there is none."""
    return str((config.get("metadata") or {}).get(METADATA, ""))


def check_secret(config: dict[str, Any], secret: str) -> None:
    """Raises `ConfigurationError` if a stream's configuration names another secret than this one.
    One that names none fits every secret."""
    known = mark_of(config)
    if known and secret and known != secret_check(secret):
        raise ConfigurationError(
            "this log belongs to a deployment with another secret: use its data folder (--data, "
            "WEFT_DATA_DIR), copy the file `secret` from there, or set its WEFT_FINGERPRINT_KEY. "
            "If the secret was changed on purpose, `weft provision --new-secret` says so to the log"
        )


async def check_log(connection: Connection, secret: str) -> None:
    """Raises `ConfigurationError` if the log is marked with another secret than this one, or with
    one although there is none here: nobody may then make a second one. Raises `Unavailable`."""
    config = await config_of(connection, STREAM) or {}
    check_secret(config, secret)
    if mark_of(config) and not secret:
        raise ConfigurationError(
            "this log belongs to a deployment whose secret is not here: use its data folder "
            "(--data, WEFT_DATA_DIR), copy the file `secret` from there or from a backup, or set "
            "its WEFT_FINGERPRINT_KEY. If it is lost, `weft provision --new-secret` with another "
            "one says so to the log"
        )


async def is_marked(connection: Connection) -> bool:
    """Whether the log keeps the check value of a secret. Raises `NotFound` and `Unavailable`."""
    return bool(mark_of((await call(connection, f"STREAM.INFO.{STREAM}"))["config"]))


async def mark_for(connection: Connection, secret: DeploymentSecret) -> str:
    """The check value to mark the log with; empty if nothing shows that the secret is the log's.

    A log without events takes any. One that holds events takes a secret that was given for it, or
    that made the handle of its newest envelope: the secret of the folder in which somebody happens
    to provision may be another deployment's. Raises as `check_secret`, and `Unavailable`.
    """
    mark = secret_check(secret.value)
    try:
        info = await call(connection, f"STREAM.INFO.{STREAM}")
    except NotFound:
        return mark
    if not mark or secret.is_new:
        return mark
    check_secret(info["config"], secret.value)
    is_known = mark_of(info["config"]) or secret.is_given or not info["state"]["messages"]
    return mark if is_known or await _is_proven(connection, secret.value) else ""


async def _is_proven(connection: Connection, secret: str) -> bool:
    """Whether the newest envelope's handle, unless it is a copy's, was made with this secret."""
    try:
        newest = await last_of(connection, stored_filter(direction="out", event="envelope"), STREAM)
        event, place = newest.event(), newest.address()
    except (NotFound, InvalidInput):
        return False
    if not isinstance(event, EnvelopeEvent) or not event.envelope.artifacts:
        return False
    key = handle_key(secret.encode())
    made = artifact_handle(place.tenant, place.session, event.origin.item_id, key)
    return event.envelope.artifacts[0].handle == made
