"""Certificates and credentials made for one test run, so that none is ever committed."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def make_certificates(folder: Path) -> None:
    """`ca`, `server` (127.0.0.1) and `agent` by it, and `stranger` by `other`: .pem and .key."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl command makes certificates here")
    for name in ("ca", "other"):
        _openssl(folder, "req", "-x509", *_KEY, "-days", "2", "-subj", f"/CN={name}",
                 "-keyout", f"{name}.key", "-out", f"{name}.pem")  # fmt: skip
    for name, authority in (("server", "ca"), ("agent", "ca"), ("stranger", "other")):
        _openssl(folder, "req", *_KEY, "-subj", f"/CN={name}",
                 "-keyout", f"{name}.key", "-out", f"{name}.csr")  # fmt: skip
        (folder / "extensions").write_text("subjectAltName=IP:127.0.0.1\n")
        _openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem",
                 "-CAkey", f"{authority}.key", "-CAcreateserial", "-days", "2",
                 "-extfile", "extensions", "-out", f"{name}.pem")  # fmt: skip


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_credentials(folder: Path) -> str:
    """`agent.creds` of an account of the server, and `stranger.creds` of nobody's; returns the
    server's configuration. Skips where the package nkeys is not installed."""
    nkeys = pytest.importorskip("nkeys")

    def pair(prefix: int) -> tuple[Any, str, str]:
        seed = nkeys.encode_seed(os.urandom(32), prefix)
        made = nkeys.from_seed(bytearray(seed))
        return made, made.public_key.decode(), bytes(seed).decode()

    operator, operator_id, _ = pair(nkeys.PREFIX_BYTE_OPERATOR)
    account, account_id, _ = pair(nkeys.PREFIX_BYTE_ACCOUNT)
    unknown, unknown_id, _ = pair(nkeys.PREFIX_BYTE_ACCOUNT)
    for name, signer, signer_id in (
        ("agent", account, account_id),
        ("stranger", unknown, unknown_id),
    ):
        _, user_id, seed = pair(nkeys.PREFIX_BYTE_USER)
        rights = {"type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1}
        token = _signed(signer, signer_id, user_id, rights)
        (folder / f"{name}.creds").write_text(
            f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        )
    own = _signed(operator, operator_id, operator_id, {"type": "operator", "version": 2})
    _, system_id, _ = pair(nkeys.PREFIX_BYTE_ACCOUNT)
    held = _signed(operator, operator_id, account_id, _account(LIMITS))
    others = _signed(operator, operator_id, system_id, _account(LIMITS[:7]))
    return (
        f"operator: {own}\nsystem_account: {system_id}\nresolver: MEMORY\n"
        f"resolver_preload: {{ {account_id}: {held}, {system_id}: {others} }}\n"
    )


LIMITS = ("subs", "data", "payload", "imports", "exports", "conn", "leaf", "mem_storage",
          "disk_storage", "streams", "consumer")  # fmt: skip
"""Of an account; the last four are JetStream's, which the system's account must not have."""


def _account(unlimited: tuple[str, ...]) -> dict[str, Any]:
    limits = {"wildcards": True, **dict.fromkeys(unlimited, -1)}
    return {"type": "account", "version": 2, "limits": limits}


def _signed(key: Any, issuer: str, subject: str, claims: dict[str, Any]) -> str:
    body = {"jti": subject, "iat": 1, "iss": issuer, "name": "made", "sub": subject, "nats": claims}
    parts = [{"typ": "JWT", "alg": "ed25519-nkey"}, body]
    text = ".".join(_encoded(json.dumps(part).encode()) for part in parts)
    return f"{text}.{_encoded(key.sign(text.encode()))}"


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
