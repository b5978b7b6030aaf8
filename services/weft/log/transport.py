"""Opens the connection to the log, by the fastest implementation that nats-py's version allows."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from weft.log.connect_errors import CredentialRefused, connect_error
from weft.log.connection import CANCEL_SECONDS, PENDING_BYTES, Connection
from weft.log.credentials import credentials_file, tls_context
from weft.log.timeouts import cancelled, done_within
from weft_schemas.errors import ConfigurationError

CONNECT_SECONDS = 3.0
SILENT_SECONDS = 20.0
"""Additional time if a server accepts connections but does not answer yet: it is starting,
recovering or suspended. Giving up early would only make the caller try again."""
_OPTIONS: dict[str, Any] = {
    "max_reconnect_attempts": -1,
    # nats-py's 2 s would be most of the gap after a server's restart.
    "reconnect_time_wait": 0.25,
    # A server that misses three pings is considered lost: if it is frozen or cut off, it closes no
    # socket, and with nats-py's default this would take six minutes to notice.
    "ping_interval": 2,
    "pending_size": PENDING_BYTES,
}

_log = logging.getLogger(__name__)


def implementation() -> type[Connection]:
    """The fast implementation if nats-py has what it needs, otherwise the plain one."""
    try:
        from weft.log.nats_internals import FastConnection, missing_internals

        if not (lacks := missing_internals()):
            return FastConnection
    except (ImportError, TypeError) as error:  # a name, or an argument of a constructor
        lacks = [str(error)]
    _log.warning("this nats-py lacks %s; weft works, and slower", ", ".join(lacks))
    return Connection


async def connect(
    url: str,
    *,
    name: str = "weft",
    user: str | None = None,
    password: str | None = None,
    token: str | None = None,
    creds: str | None = None,
    tls_ca: str | None = None,
    tls_cert: str | None = None,
    tls_key: str | None = None,
    timeout: float = CONNECT_SECONDS,
    kind: type[Connection] | None = None,
) -> Connection:
    """Connect to one or more servers (URLs separated by commas) and keep reconnecting.

    `creds` is a credentials file, the `tls_` ones are PEM files. `kind` is the implementation, by
    default the best available. Raises `Unavailable` if no server answers within `timeout` seconds
    (`SILENT_SECONDS` later if one accepts connections), `Forbidden` if it refuses the credential
    and `ConfigurationError` if a file cannot be used.
    """
    servers = [part.strip() for part in url.split(",")]
    credential = {
        "user": user,
        "password": password,
        "token": token,
        "user_credentials": credentials_file(creds) if creds else None,
        "tls": tls_context(tls_ca, tls_cert, tls_key),
    }
    kind, only_tls = kind or implementation(), _asks_for_tls(servers, credential)
    if only_tls and kind is Connection:
        # It could not keep nats-py from sending the credential in the clear.
        raise ConfigurationError(
            "TLS needs a version of nats-py that weft was tested with; install weft's own range"
        )
    connection = kind(only_tls)
    options = {**_OPTIONS, "name": name, "connect_timeout": timeout, **credential}
    cause = await _failure(connection, servers, options)
    if cause is None:
        return connection
    failure = connect_error(url, cause, connection.wants_certificate, bool(tls_cert))
    await connection.abandon()
    raise failure


async def _failure(
    connection: Connection, servers: list[str], options: dict[str, Any]
) -> BaseException | None:
    """Why connecting failed; None if it did not."""
    attempt = asyncio.create_task(connection.connect(servers, **options, **connection.callbacks))
    try:
        # With unlimited reconnects nats-py retries for ever; the timeout ends that.
        is_done = await done_within(attempt, options["connect_timeout"])
        if not is_done and connection.is_met_with_silence:
            await done_within(attempt, SILENT_SECONDS)
    finally:
        # Over TLS nats-py waits for a close that never comes.
        await cancelled(attempt, again=CANCEL_SECONDS)
    error = TimeoutError() if attempt.cancelled() else attempt.exception()
    # nats-py keeps the cause of anything but a refused credential, which leaves its loop.
    if error is None or isinstance(error, CredentialRefused):
        return error
    return connection.last_error or error


def _asks_for_tls(servers: list[str], credential: dict[str, Any]) -> bool:
    # A WebSocket says itself, by its scheme, whether it is encrypted.
    if all(server.startswith(("ws://", "wss://")) for server in servers):
        return False
    return credential["tls"] is not None or any(server.startswith("tls://") for server in servers)
