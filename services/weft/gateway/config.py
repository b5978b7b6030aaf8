"""A gateway's configuration: its options, and its servers with the limits of each."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from weft.gateway.rules import Rule

Mode = Literal["pass", "search", "auto"]
Whole = Annotated[int, msgspec.Meta(ge=0)]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The limits of one upstream server."""

    start_seconds: float = 30.0
    """Until it has introduced itself; `npx` may download it first."""
    call_seconds: float = 120.0
    """Until it has answered a call."""
    message_bytes: int = 64 << 20
    """Of one message from it; more ends the connection."""
    backoff_seconds: float = 60.0
    """Most between two starts of one that keeps failing."""
    idle_seconds: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """After its last call until it is ended; the next call starts it again. 0 leaves it running, as
    one needs that keeps a state between calls."""
    memory_bytes: Whole = 0
    """Address space of each of its processes, as the three here for one that is started; 0 sets no
    limit."""
    cpu_seconds: Whole = 0
    """Of processor time of each of its processes, from its start on."""
    open_files: Whole = 0
    """Of each of its processes, pipes and connections among them."""


class ClientCredentials(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The gateway's credentials for an authorization server."""

    issuer: str
    """The authorization server. The secret goes to it alone, wherever the MCP server points."""
    client_id: str
    client_secret: str
    scope: str = ""
    """Scopes to ask for, with spaces between them; empty leaves it to the server."""
    secret_in: Literal["header", "body"] = "header"
    """Where a request for a token carries the secret."""


class SignInClient(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As what the gateway signs a person in, where the authorization server registers no clients
    by itself."""

    client_id: str
    client_secret: str = ""
    port: Annotated[int, msgspec.Meta(ge=0, le=65_535)] = 0
    """Of `http://127.0.0.1:PORT/callback`, where the server was told that address; 0 is any."""


class ServerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One server as the file names it."""

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
    """Whether it may ask the host's model."""
    oauth: ClientCredentials | None = None
    sign_in: SignInClient | None = None


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The key `weft` of the file."""

    mode: Mode = "auto"
    auto_tools: int = 20
    """`auto` searches from more tools than this on, …"""
    auto_tokens: int = 8_000
    """… or where their schemas are longer than this."""
    searching_hosts: tuple[str, ...] = ("claude-code",)
    """Names of hosts whose models search tools themselves: `auto` passes everything to them."""
    limit: int = 2_000
    """Tokens of a result that a host's model sees at once."""
    find: int = 5
    """Tools that a search gives, where the model does not say how many."""
    tools: dict[str, Rule] = {}
    """Glob over `server:tool` → `allow`, `ask` or `deny`; the first match counts."""
    handles: dict[str, bool] = {}
    """Glob over `server:tool` → whether `{"$weft": …}` may stand in its arguments; else yes."""
    collisions: Literal["quarantine", "allow"] = "quarantine"
    """What to do with a tool whose name another server's tool already has."""
    sampling: tuple[str, ...] = ()
    """Servers that may ask the host's model."""
    oauth: dict[str, ClientCredentials] = {}
    """Server at an address → credentials; `${NAME}` stands in them for environment variables."""
    sign_in: dict[str, SignInClient] = {}
    """Server at an address → the client that signs people in there; variables as in `oauth`."""
    limits: Limits = Limits()
    servers: dict[str, Limits] = {}
    """Server → limits of its own; what they do not say is as in `limits`."""
    catalog: str = "gateway"
    """The catalogue's name in the log."""


class GatewayConfig(msgspec.Struct, frozen=True, kw_only=True):
    servers: dict[str, ServerSpec]
    options: Options = Options()
    left_out: tuple[str, ...] = ()
    """Servers of the file that are not connected, each with the reason."""
