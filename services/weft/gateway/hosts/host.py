"""The hosts of a gateway, their capabilities, and how a server's question is put to the host whose
call is running. A host that began with a handshake gets it as a request. A host of the current
protocol gets it as its call's result, and then repeats the call with the answer."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from weft.gateway.tasks.protocol import TASKS
from weft_schemas.ids import digest

SESSION_META = "weft/session"
"""In a request's `_meta`: the session in the log."""
SESSION_HEADER = "weft-session"
LIMIT_META = "weft/limit"
"""In a request's `_meta`: how many tokens of a result the host wants to see at first."""
MAX_HOSTS = 256
LOG_LEVEL_META = "io.modelcontextprotocol/logLevel"

Context = ServerRequestContext[Any, Any]


class Host:
    """One host, while it is known."""

    def __init__(self, session: str, name: str, is_modern: bool) -> None:
        self.session = session
        self.name = name
        self.is_modern = is_modern
        self.sender: ServerSession | None = None
        """Where notifications are sent that belong to no request."""
        self.subscribed: set[str] = set()
        self.lists_search = False
        """Whether its list of tools, when it last asked, was the search."""
        self.log_level = ""
        """The lowest level of log messages that it wants; empty leaves it to the servers."""

    def hears(self, level: str) -> bool:
        """Whether it wants log messages of this level."""
        return not self.log_level or is_as_high(level, self.log_level)


class HostCall:
    """One request of a host, while it is being handled."""

    def __init__(self, host: Host, context: Context) -> None:
        self.host = host
        self.context = context
        self.questions: asyncio.Queue[tuple[str, types.InputRequest]] = asyncio.Queue()
        self.answers: dict[str, asyncio.Future[types.InputResponse]] = {}

    async def ask(self, request: types.InputRequest) -> Any:
        """Ask the host. Returns its answer, or why there is none."""
        if not self.can_answer(request):
            text = f"the host does not answer {request.method}"
            return types.ErrorData(code=types.INVALID_REQUEST, message=text)
        if self.host.is_modern:
            key = secrets.token_hex(4)
            answer = self.answers[key] = asyncio.get_running_loop().create_future()
            self.questions.put_nowait((key, request))
            return await answer
        related = ServerMessageMetadata(related_request_id=self.context.request_id)
        kind: Any = _ANSWERS[type(request)]
        try:
            return await self.context.session.send_request(request, kind, metadata=related)
        except MCPError as error:
            return error.error

    def can_answer(self, request: types.InputRequest) -> bool:
        """Whether the host declared that it can answer this."""
        capabilities = self.context.session.client_capabilities
        if capabilities is None:
            return False
        if isinstance(request, types.ElicitRequest):
            return capabilities.elicitation is not None
        if isinstance(request, types.ListRootsRequest):
            return capabilities.roots is not None
        return capabilities.sampling is not None

    @property
    def takes_tasks(self) -> bool:
        """Whether the host declared that it accepts a task in place of a result."""
        capabilities = self.context.session.client_capabilities
        return self.host.is_modern and TASKS in ((capabilities and capabilities.extensions) or {})

    @property
    def log_level(self) -> str:
        """The lowest level of log messages to ask servers for. In the current protocol each request
        names it, and without one none are wanted."""
        if not self.host.is_modern:
            return self.host.log_level
        wanted = (self.context.meta or {}).get(LOG_LEVEL_META)
        return wanted if wanted in LEVELS else ""

    def hears(self, level: str) -> bool:
        """Whether this request, in the current protocol, asked for log messages of a level."""
        wanted = self.log_level
        return bool(wanted) and is_as_high(level, wanted)


LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Levels of log messages, the least important first."""


def is_as_high(level: str, other: str) -> bool:
    return LEVELS.index(level) >= LEVELS.index(other)


_ANSWERS: dict[type, Any] = {
    types.ElicitRequest: types.ElicitResult,
    types.ListRootsRequest: types.ListRootsResult,
    types.CreateMessageRequest: types.CreateMessageResult,
}
current: ContextVar[HostCall | None] = ContextVar("weft_gateway_call", default=None)
"""The request that is handled in this context."""


class Hosts:
    """All known hosts, the latest last."""

    def __init__(
        self, session: str = "", session_after: Callable[[str], str] = lambda session: session
    ) -> None:
        """`session` is the log's session for hosts that do not name one; without it one is made.
        `session_after` returns the name under which a session continues."""
        self._session = session
        self._session_after = session_after
        self._run = secrets.token_hex(4)
        self._known: OrderedDict[str, Host] = OrderedDict()

    def __iter__(self) -> Any:
        return iter(list(self._known.values()))

    @property
    def log_level(self) -> str:
        """The lowest level that any handshake-era host wants; empty if none named one."""
        wanted = [host.log_level for host in self if host.log_level]
        return min(wanted, key=LEVELS.index, default="")

    def of(self, context: Context) -> Host:
        """The host of a request."""
        info = context.session.client_params
        name = info.client_info.name if info is not None else "host"
        headers: Mapping[str, str] = getattr(context.request, "headers", None) or {}
        transport_session = headers.get("mcp-session-id", "")
        named = (context.meta or {}).get(SESSION_META) or headers.get(SESSION_HEADER)
        is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        session = str(named) if named else self._session or self._made(name, transport_session)
        key = f"{transport_session}/{session}/{name}/{is_modern}"
        host = self._known.get(key)
        if host is None:
            host = self._known[key] = Host(session, name, is_modern)
            if len(self._known) > MAX_HOSTS:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        host.session = self._session_after(session)
        if not is_modern:
            host.sender = context.session
        return host

    def _made(self, name: str, transport_session: str) -> str:
        plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:32] or "host"
        tail = digest("wire", transport_session)[:12] if transport_session else self._run
        return f"mcp-{plain}-{tail}"


def result_limit(meta: dict[str, Any]) -> int | None:
    """How many tokens of a result the request wants to see at first, if it says so."""
    limit = meta.get(LIMIT_META)
    return limit if isinstance(limit, int) and limit > 0 else None
