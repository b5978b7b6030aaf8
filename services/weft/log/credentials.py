"""Credential and certificate files, checked before they are given to nats-py."""

from __future__ import annotations

import ssl
from importlib.util import find_spec
from pathlib import Path

from weft_schemas.errors import ConfigurationError


def credentials_file(path: str) -> str:
    """The path. Raises `ConfigurationError`; without these marks nats-py would read on for ever."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"credentials file {path}: {error.strerror}; check the path"
        ) from None
    for mark in (b"BEGIN NATS USER JWT", b"BEGIN USER NKEY SEED"):
        if mark not in content:
            raise ConfigurationError(
                f"credentials file {path}: no line with {mark.decode()!r}; make one with "
                "`nsc generate creds`"
            )
    if find_spec("nkeys") is None:
        raise ConfigurationError(
            f"credentials file {path}: signing in with it needs the package nkeys; install it: "
            "pip install 'nats-py[nkeys]'"
        )
    return path


def tls_context(ca: str | None, cert: str | None, key: str | None) -> ssl.SSLContext | None:
    """For PEM files, None if there are none. Raises `ConfigurationError`."""
    if not (ca or cert):
        return None
    try:
        context = ssl.create_default_context(cafile=ca)
        if cert:
            context.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f"TLS files cannot be used: {error}; check ca {ca}, cert {cert}, key {key}"
        ) from None
    return context
