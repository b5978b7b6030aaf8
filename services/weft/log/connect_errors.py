"""Why connecting failed, as one line that says what to do."""

from __future__ import annotations

import ssl

import nats.errors

from weft.log.addresses import with_credentials_as
from weft_schemas.errors import ConfigurationError, Forbidden, Unavailable, WeftError


class CredentialRefused(Exception):
    """The server refused the credential. It leaves nats-py's loop, and becomes `Forbidden`."""


class WithoutTls(nats.errors.Error):
    """TLS was asked for, and the server speaks none. It becomes `Unavailable`."""


def connect_error(
    url: str, cause: BaseException | None, wants_certificate: bool, has_certificate: bool
) -> WeftError:
    """The error to raise. `cause` is nats-py's last; the server announced `wants_certificate`."""
    where = with_credentials_as(url, "")
    text = str(cause) or type(cause).__name__
    if isinstance(cause, CredentialRefused):
        return Forbidden(f"{where} refused the credential; check user, token or credentials file")
    if wants_certificate and _is_cut_off(cause):
        return Forbidden(
            f"{where} refused the client certificate ({text}); check certificate, key and CA"
            if has_certificate
            else f"{where} wants a client certificate; give one with its key"
        )
    if isinstance(cause, ImportError):
        return ConfigurationError(
            f"{where}: a WebSocket needs the package aiohttp; install it: pip install aiohttp"
        )
    if isinstance(cause, WithoutTls):
        return Unavailable(f"TLS with {where} failed: {text}; check the address and the server")
    if isinstance(cause, ssl.SSLError):
        return Unavailable(f"TLS with {where} failed: {text}; check the CA and certificate")
    return Unavailable(
        f"no nats-server answers at {where} ({text}); start one, as `weft up` does, "
        "or give the address of another"
    )


def _is_cut_off(cause: BaseException | None) -> bool:
    """Whether the server aborted a TLS handshake: seen only if read before a write fails."""
    if isinstance(cause, ssl.SSLError):
        return "ALERT" in (cause.reason or "")
    return isinstance(cause, ConnectionError | nats.errors.UnexpectedEOF)
