"""The gateway's configuration: its options, its servers, and each server's limits."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from weft.gateway.configuration.call_rules import Rule

Mode = Literal["pass", "search", "auto"]
Collisions = Literal["quarantine", "allow"]
NonNegative = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The limits of one upstream server."""

    start_seconds: Seconds = 30.0
    """From start to introduction; `npx` may have to download the server first."""
    call_seconds: Seconds = 120.0
    """For the answer to a call."""
    message_bytes: Annotated[int, msgspec.Meta(ge=1_024)] = 64 << 20
    """Of one message from the server; a longer one ends the connection."""
    backoff_seconds: Annotated[float, msgspec.Meta(ge=0)] = 60.0
    """Longest pause before a server that keeps failing is started again."""
    idle_seconds: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """A server without a call for so long is ended; the next call starts it again. 0 keeps it
    running, which a server with state between calls needs."""
    memory_bytes: NonNegative = 0
    """Address space of each of its processes. This limit and the two below apply to servers that
    the gateway starts; 0 means no limit."""
    cpu_seconds: NonNegative = 0
    """Processor time of each of its processes, since its start."""
    open_files: NonNegative = 0
    """Open files of each of its processes, including pipes and connections."""


class ClientCredentials(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The gateway's credentials for an authorization server."""

    issuer: str
    """The authorization server. The secret is sent only there, wherever the MCP server points."""
    client_id: str
    client_secret: str
    scope: str = ""
    """Scopes to ask for, separated by spaces; if empty, the server chooses."""
    secret_in: Literal["header", "body"] = "header"
    """Where a token request carries the secret."""


class SignInClient(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The client as which the gateway signs a person in, for authorization servers that do not
    register clients themselves."""

    client_id: str
    client_secret: str = ""
    port: Annotated[int, msgspec.Meta(ge=0, le=65_535)] = 0
    """The port of `http://127.0.0.1:PORT/callback`, if the client is registered with that address;
    0 takes any."""


class ServerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One server of the configuration file."""

    name: str
    transport: Literal["stdio", "http", "sse"]
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str | None = None
    url: str = ""
    headers: dict[str, str] = {}
    limits: Limits = Limits()
    sampling: bool = False
    """Whether the server may ask the host's model."""
    oauth: ClientCredentials | None = None
    sign_in: SignInClient | None = None


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The file's key `weft`."""

    mode: Mode = "auto"
    auto_tools: NonNegative = 20
    """`auto` offers the search instead of the tools if there are more tools than this, …"""
    auto_tokens: NonNegative = 8_000
    """… or if their schemas are longer than this."""
    searching_hosts: tuple[str, ...] = ("claude-code",)
    """Names of hosts whose models search for tools themselves; for them `auto` passes all tools
    on."""
    limit: Annotated[int, msgspec.Meta(ge=100, le=1_000_000)] = 2_000
    """Tokens of a result that a host's model sees at first."""
    find: Annotated[int, msgspec.Meta(ge=1)] = 5
    """How many tools a search returns if the model does not say."""
    tools: dict[str, Rule] = {}
    """Glob over `server:tool` → `allow`, `ask` or `deny`. The first match counts."""
    handles: dict[str, bool] = {}
    """Glob over `server:tool` → whether `{"$weft": …}` is replaced in its arguments; by default it
    is."""
    collisions: Collisions = "quarantine"
    """What to do with a tool whose name is already taken by another server's tool."""
    sampling: tuple[str, ...] = ()
    """Servers that may ask the host's model."""
    oauth: dict[str, ClientCredentials] = {}
    """Server with an address → its credentials, in which `${NAME}` stands for an environment
    variable."""
    sign_in: dict[str, SignInClient] = {}
    """Server with an address → the client that signs people in there; variables as in `oauth`."""
    limits: Limits = Limits()
    servers: dict[str, Limits] = {}
    """Server → its own limits; values that are not given come from `limits`."""
    catalog: str = "gateway"
    """The name of the tool catalogue in the log."""


class GatewayConfig(msgspec.Struct, frozen=True, kw_only=True):
    servers: dict[str, ServerSpec]
    options: Options = Options()
    left_out: tuple[str, ...] = ()
    """Servers of the file that are not connected, with the reason for each."""
