"""Every setting of a process, read once from the environment: each field from `WEFT_<FIELD>`. All
faults are reported together. Imports only msgspec, since the client reads its connection here, too.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from weft.log.addresses import with_credentials_as
from weft.model_encodings import DEFAULT_ENCODING, encoding_named
from weft.runtime.deployment import known_secret
from weft_schemas.errors import ConfigurationError, InvalidInput
from weft_schemas.ids import encode_token, principal_token

SECRETS = frozenset((
    "password", "token", "fingerprint_key", "summary_api_key", "router_api_key", "reading_api_key",
    "gateway_token",
))  # fmt: skip
"""Fields that are never shown."""

_CREDENTIALS = ("user", "password", "token", "creds", "tls_ca", "tls_cert", "tls_key")

MASK = "********"
_IN_FAULTY_ADDRESS = re.compile(r"^((?:nats|tls|wss?)://)?.*@", re.DOTALL)
"""A user, password or token where nobody knows what belongs to it: all before the last @."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one process; the defaults are those of a laptop."""

    nats_url: str = "nats://127.0.0.1:4222"
    """Server addresses, separated by commas."""
    creds: Path | None = None
    """A NATS credentials file."""
    user: str | None = None
    password: str | None = None
    token: str | None = None
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None

    tenant: str = "default"
    principal: str = ""
    """Who publishes and asks, within the tenant: part of the subjects, where permissions can fix
    it. Scopes are granted to it; `@operator` may loosen the policy in force."""
    data_dir: Path = Path("weft-data")
    """Holds the embedded server's store and the replica's read model."""
    encoding: str = DEFAULT_ENCODING
    """What counts tokens: an encoding, a model or the path of a `tokenizer.json`."""
    heavy_processes: int = 2
    """Of a compiler or router, for long requests; a tenant gets at most all but one."""
    heavy_seconds: float = 10.0
    """Longest that such a request may take."""
    http_host: str = "127.0.0.1"
    http_port: int = 0
    """Of /metrics, /live and /ready; 0 takes a free one and logs it."""
    log_level: str = "info"
    durability: str = "process"
    """What an acknowledged event survives: `process`, `power` or `cluster`."""
    max_age_days: float = 0.0
    """Events older than this leave the log; 0 keeps them."""
    max_bytes: int = 0
    """Size at which the log refuses more; 0 sets no limit."""
    fingerprint_key: str = ""
    """The deployment's secret: the key of fingerprints, fences and message ids. Default: the one
    that `weft up` made in the data folder."""
    idle_close_seconds: float = 0.0
    """Sessions without an event for so long are closed; 0 leaves them open."""
    summary_url: str | None = None
    """OpenAI-compatible endpoint of the summarizer; without one it extracts sentences."""
    summary_model: str | None = None
    summary_api_key: str | None = None
    memory_languages: Path | None = None
    """JSON file of phrases in which people speak of themselves; adds to or replaces weft's own."""
    router_transformer: str = "identity"
    """Turns a question into a routing query: a template such as `a tool to {query}`, or the name of
    an installed transformer."""
    router_url: str | None = None
    """OpenAI-compatible endpoint that rewrites routing queries, if given."""
    router_model: str | None = None
    router_api_key: str | None = None
    reading_url: str | None = None
    """OpenAI-compatible endpoint for `weft eval reading ask`."""
    reading_model: str | None = None
    reading_api_key: str | None = None
    traces: str = ""
    """Where spans go: `otlp` (to OTEL_EXPORTER_OTLP_ENDPOINT) or `file:FOLDER`, one file of JSON
    lines for each process; empty for no spans."""
    trace_content: bool = False
    """Whether spans may contain texts, such as a compile's query."""
    gateway_token: str | None = None
    """Required of hosts by a gateway that serves HTTP, except on loopback."""
    router_encoder: str = ""
    """Sentence encoder that routing fuses with its own scores; empty for none."""
    router_concepts: Path | None = None
    """Text file of concepts, which replaces the router's own; an empty file means none."""

    @property
    def max_age_seconds(self) -> float:
        return self.max_age_days * 86_400.0

    def connection(self) -> dict[str, Any]:
        """Address and credentials, as the arguments of `weft.log.transport.connect`."""
        known = {name: getattr(self, name) for name in _CREDENTIALS}
        return {"url": self.nats_url} | {name: one and str(one) for name, one in known.items()}

    def credential(self) -> bytes:
        """The secret that this process signs in with, if any. Raises `ConfigurationError`."""
        file = self.creds or self.tls_key
        if file is None:
            return (self.password or self.token or "").encode()
        try:
            return file.read_bytes()
        except OSError as error:
            raise ConfigurationError(
                f"{file}: {error.strerror}; name a file with --creds"
            ) from None

    def shown(self) -> dict[str, str]:
        """Variable → value, with secrets masked."""
        return {_variable(name): self._shown_value(name) for name in self.__struct_fields__}

    def _shown_value(self, name: str) -> str:
        value = getattr(self, name)
        if value is None:
            return ""
        return MASK if name in SECRETS else with_credentials_as(str(value), f"{MASK}@")


def read_settings(environ: Mapping[str, str] = os.environ, **overrides: Any) -> Settings:
    """The settings of this environment, overridden by a command's arguments that are not None.
    Raises `ConfigurationError` with every fault."""
    faults = _misspelt(environ)
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(Settings):
        text = overrides.get(field.name)
        if field.name == "tenant" and text == "":
            # Not the default's: it may be the header of a request that named nobody.
            faults.append("WEFT_TENANT='': it is empty; name one, or leave it out for the default")
            continue
        text = environ.get(_variable(field.name)) if text is None else text
        if text is None or text == "":
            continue
        try:
            values[field.name] = _CHECKS.get(field.name, str)(text)
        except (ValueError, InvalidInput) as error:
            faults.append(f"{_variable(field.name)}={_shown_fault(field.name, text)}: {error}")
    faults += _contradictions(values)
    if faults:
        raise ConfigurationError("settings cannot be used:\n  " + "\n  ".join(faults))
    settings = Settings(**values)
    if settings.fingerprint_key:
        return settings
    return msgspec.structs.replace(settings, fingerprint_key=known_secret(settings.data_dir))


def _shown_fault(name: str, value: object) -> str:
    if name in SECRETS:
        return MASK
    if name == "nats_url" and isinstance(value, str):
        return repr(_IN_FAULTY_ADDRESS.sub(rf"\g<1>{MASK}@", value, count=1))
    return with_credentials_as(repr(value), f"{MASK}@")


def secret_is_given() -> bool:
    """Whether the deployment's secret is set here, and not merely found in the data folder."""
    return bool(os.environ.get(_variable("fingerprint_key")))


def _variable(field: str) -> str:
    return f"WEFT_{field.upper()}"


_VARIABLES = tuple(_variable(name) for name in Settings.__struct_fields__)
_SPELLING = 0.9
"""An unknown variable counts as misspelt if it is at least this similar to a known one. Variables
of other programs, such as `WEFT_DATA` of the tests, are less similar."""


def _misspelt(environ: Mapping[str, str]) -> list[str]:
    unknown = sorted({name for name in environ if name.startswith("WEFT_")}.difference(_VARIABLES))
    close = ((name, difflib.get_close_matches(name, _VARIABLES, 1, _SPELLING)) for name in unknown)
    return [f"{name}: no such setting; did you mean {known[0]}?" for name, known in close if known]


def _contradictions(values: dict[str, Any]) -> list[str]:
    """Faults of settings that do not fit together."""
    pairs = [("tls_cert", "tls_key"), ("user", "password")]
    pairs += [(f"{name}_url", f"{name}_model") for name in ("summary", "router", "reading")]
    faults = [
        f"{_variable(one)} and {_variable(other)}: set both or none"
        for one, other in pairs
        if (one in values) != (other in values)
    ]
    ways = [name for name in ("creds", "user", "token") if name in values]
    if len(ways) > 1:
        names = ", ".join(_variable(name) for name in ways)
        faults.append(f"{names}: several ways to sign in; keep one")
    return faults


def _existing_file(text: str | Path) -> Path:
    path = Path(text)
    if not path.is_file():
        raise ValueError("no such file")
    return path


def _valid(check: Callable[[str], object]) -> Callable[[str], str]:
    def checked(text: str) -> str:
        check(text)
        return text

    return checked


def _address(text: str) -> str:
    if not isinstance(text, str):
        raise ValueError(f"give a str, not a value of type {type(text).__name__}")
    for part in text.split(","):
        if fault := _fault_of(part.strip()):
            raise ValueError(f"{fault}; {_SPECIAL}" if "@" in text else fault)
    return text


def _web_address(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("an address of an endpoint starts with http:// or https://")
    return text


_SPECIAL = (
    "a user, password or token that contains / ? # or a comma cannot be part of an address: give "
    "it as WEFT_USER and WEFT_PASSWORD, or as WEFT_TOKEN"
)
"""Percent-encoding would not help: nats-py sends what the address contains, as it is."""


def _fault_of(address: str) -> str:
    """Empty for an address that can be connected to. Quotes nothing, since it may be a password."""
    if not address.startswith(("nats://", "tls://", "ws://", "wss://")):
        return "an address starts with nats://, tls://, ws:// or wss://"
    user_information = address.partition("//")[2].rpartition("@")[0]
    has_special = any(character in "/?#" for character in user_information)
    try:
        parts = urlsplit(address)
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_whole = False
    if has_special or not is_whole:
        return "it names no server; give HOST:PORT, with a port from 1 to 65535"
    return ""


def _number(kind: type[int] | type[float], least: float, most: float) -> Callable[[str], float]:
    limits = f"{least} or more" if most == inf else f"{least} to {most}"

    def check(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            raise ValueError(f"not a {'whole ' * (kind is int)}number") from None
        if not least <= value <= most or value == inf:
            raise ValueError(f"give {limits}")
        return value

    return check


def _log_size(text: str) -> float:
    size = _number(int, 0, 2**63 - 1)(text)
    if 0 < size < _MIN_LOG:
        raise ValueError(f"give 0 for no limit, or {_MIN_LOG} or more")
    return size


_MIN_LOG = 1024 * 1024
"""Bytes of the largest message that a server takes by default."""


def _one_of(*words: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if text not in words:
            raise ValueError(f"give one of {', '.join(words)}")
        return text

    return check


def _yes_or_no(text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0"):
        raise ValueError("give true or false")
    return text.lower() in ("true", "1")


def _traces(text: str) -> str:
    if text and text != "otlp" and not text.startswith("file:"):
        raise ValueError("give otlp or file:FOLDER")
    return text


_FILES = ("creds", "tls_ca", "tls_cert", "tls_key", "memory_languages", "router_concepts")
_CHECKS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_FILES, _existing_file),
    **dict.fromkeys(("summary_url", "router_url", "reading_url"), _web_address),
    "nats_url": _address,
    "tenant": _valid(partial(encode_token, what="tenant")),
    "principal": _valid(principal_token),
    "data_dir": Path,
    "encoding": encoding_named,
    "heavy_processes": _number(int, 1, 64),
    "heavy_seconds": _number(float, 0.001, inf),
    "http_port": _number(int, 0, 65_535),
    "log_level": _one_of("debug", "info", "warning", "error"),
    "durability": _one_of("process", "power", "cluster"),
    "max_age_days": _number(float, 0, inf),
    "max_bytes": _log_size,
    "idle_close_seconds": _number(float, 0, inf),
    "traces": _traces,
    "trace_content": _yes_or_no,
}
