"""Tokens and what they stand for: a tenant, and the NATS credential of their requests. A token has
no rights of its own: it may do what the server allows its credential. The exception is the log
itself, which no tenant's credential may read; `read_log` lets a token read its tenant's events with
the process's credential."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from weft.log.credentials import credentials_file
from weft_schemas.errors import ConfigurationError, InvalidInput
from weft_schemas.ids import encode_token, principal_token

MIN_CHARACTERS = 16
"""Least length of a token; a shorter one could be guessed."""
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")

Name = Annotated[str, Meta(min_length=1, max_length=100)]


class TokenGrant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[[token]]` of the file. A value `$NAME` is taken from the environment."""

    name: Name
    """Stands for the token in logs and refusals."""
    tenant: Name
    token: str = ""
    sha256: str = ""
    """Hex SHA-256 of the token, so that the file does not hold it."""
    user: str | None = None
    password: str | None = None
    creds: str | None = None
    """Path of a NATS credentials file."""
    nats_token: str | None = None
    principal: str = ""
    """The caller within the tenant, if its permissions and grants distinguish callers."""
    read_log: bool = False
    """Whether it may read its tenant's events, including raw results."""
    rate: Annotated[float, Meta(gt=0)] | None = None
    """Requests per second; the process's limit if it is not set."""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    token: tuple[TokenGrant, ...] = ()


class TokenGrants:
    """The grants of a process, found by token."""

    def __init__(self, grants: tuple[TokenGrant, ...]) -> None:
        self._by_digest = {_digest_of(grant): grant for grant in grants}

    def find(self, token: str) -> TokenGrant | None:
        """The grant of a token, looked up by the token's digest, so that the duration reveals
        nothing."""
        return self._by_digest.get(_digest(token))

    def use_own_credential(self) -> bool:
        """Whether some token's requests are made with the process's own credential."""
        grants = self._by_digest.values()
        return any(one.read_log or not (one.user or one.creds or one.nats_token) for one in grants)

    def __len__(self) -> int:
        return len(self._by_digest)


def read_grants(path: Path, environ: Mapping[str, str]) -> TokenGrants:
    """The tokens of a TOML file. Raises `ConfigurationError` that names file, token and field."""
    try:
        with path.open("rb") as file:
            parsed = msgspec.convert(_filled(tomllib.load(file), environ), _File)
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}; check --tokens") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: {error}; see docs/http.md") from None
    if not parsed.token:
        raise ConfigurationError(f"{path}: holds no [[token]]; see docs/http.md")
    for grant in parsed.token:
        _check(grant, path)
    names = [grant.name for grant in parsed.token]
    digests = [_digest_of(grant) for grant in parsed.token]
    for what, values in (("name", names), ("token", digests)):
        if len(set(values)) < len(values):
            raise ConfigurationError(f"{path}: two tokens have one {what}; make each its own")
    return TokenGrants(parsed.token)


def _filled(value: object, environ: Mapping[str, str]) -> object:
    """The settings with every text `$NAME` replaced from the environment."""
    if isinstance(value, dict):
        return {key: _filled(one, environ) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, environ) for one in value]
    if isinstance(value, str) and value.startswith("$"):
        if value[1:] not in environ:
            raise msgspec.ValidationError(f"{value} is not in the environment")
        return environ[value[1:]]
    return value


def _check(grant: TokenGrant, path: Path) -> None:
    where = f"{path}: token {grant.name!r}"
    if bool(grant.token) == bool(grant.sha256):
        raise ConfigurationError(f"{where}: give either token or sha256")
    if grant.token and len(grant.token) < MIN_CHARACTERS:
        raise ConfigurationError(
            f"{where}: has {len(grant.token)} characters; give at least {MIN_CHARACTERS} random "
            "ones, such as `openssl rand -hex 32` makes"
        )
    if grant.sha256 and not _SHA256.match(grant.sha256):
        raise ConfigurationError(f"{where}: sha256 is no SHA-256 in lower-case hex")
    if (grant.user is None) != (grant.password is None):
        raise ConfigurationError(f"{where}: set both user and password or none")
    if sum(one is not None for one in (grant.user, grant.creds, grant.nats_token)) > 1:
        raise ConfigurationError(f"{where}: several ways to sign in; keep one")
    try:
        encode_token(grant.tenant)
        if grant.principal:
            principal_token(grant.principal)
        if grant.creds is not None:
            credentials_file(grant.creds)
    except (ConfigurationError, InvalidInput) as error:
        raise ConfigurationError(f"{where}: {error}") from None


def _digest_of(grant: TokenGrant) -> str:
    return grant.sha256 or _digest(grant.token)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
