"""Questions of servers (elicitation, sampling, roots) to the host whose call they are handling:
stripped of secrets, put to that host alone, and logged with the answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import mcp_types as types

from weft.gateway.background import Background
from weft.gateway.hosts import safe_messages
from weft.gateway.hosts.host import HostCall, current
from weft.gateway.log.host_log import HostLog
from weft.gateway.log.items import call_item, refusal_item, result_item
from weft.gateway.protocol_json import dumped
from weft.gateway.upstream.upstream import Upstream


class Questions:
    def __init__(self, log: HostLog, background: Background) -> None:
        self._log = log
        self._background = background
        self._running_calls: dict[str, list[HostCall]] = {}

    @contextmanager
    def working(self, upstream: Upstream, call: HostCall) -> Iterator[None]:
        """Around a host's call to a server, which may ask questions about it."""
        calls = self._running_calls.setdefault(upstream.name, [])
        token = current.set(call)
        calls.append(call)
        try:
            yield
        finally:
            calls.remove(call)
            current.reset(token)

    def calls_at(self, upstream: Upstream) -> list[HostCall]:
        """The hosts' calls that the server is handling."""
        return list(self._running_calls.get(upstream.name, ()))

    async def ask(
        self, upstream: Upstream, request: types.InputRequest
    ) -> types.InputResponse | types.ErrorData:
        """The host's answer, or why there is none."""
        call = current.get() or self._call_of(upstream)
        if isinstance(call, str):
            return types.ErrorData(code=types.INVALID_REQUEST, message=call)
        name = f"{upstream.name}:{request.method}"
        shown = safe_messages.question(request, await self._log.masking(call.host))
        if shown is None:
            reason = f"server {upstream.name!r} asked {_UNASKABLE}"
            unasked = call_item(name, {}, upstream.name)
            self._background.spawn(
                self._log.publish(call.host, unasked, refusal_item(unasked, reason))
            )
            return types.ErrorData(code=types.INVALID_REQUEST, message=reason)
        asked = call_item(name, _params(shown), upstream.name)
        answer: types.InputResponse | types.ErrorData = await call.ask(shown)
        is_refused = isinstance(answer, types.ErrorData)
        said = answer.message if isinstance(answer, types.ErrorData) else _dumped(answer)
        result = result_item(asked, said, is_error=is_refused)
        self._background.spawn(self._log.publish(call.host, asked, result))
        return answer

    def log_refused(self, upstream: Upstream, request: types.JSONRPCRequest) -> None:
        """Log a question that the configuration does not allow, for those who are calling the
        server."""
        asked = call_item(f"{upstream.name}:{request.method}", request.params or {}, upstream.name)
        reason = f"server {upstream.name!r} may not ask the host's model by this gateway's file"
        hosts = {call.host.session: call.host for call in self.calls_at(upstream)}
        for host in hosts.values():
            self._background.spawn(self._log.publish(host, asked, refusal_item(asked, reason)))

    def _call_of(self, upstream: Upstream) -> HostCall | str:
        """The call that a question belongs to, or why it is not known."""
        calls = self.calls_at(upstream)
        if not calls:
            return "no host's call is on the way"
        if len({call.host.session for call in calls}) != 1:
            return "calls of several hosts are on the way, and it is unknown whose this is"
        return calls[-1]


_UNASKABLE = (
    "what the host is not shown: it is too long, or a secret stands in an address or a field's name"
)


def _params(request: Any) -> dict[str, Any]:
    written: dict[str, Any] = dumped(request)
    params: dict[str, Any] = written.get("params") or {}
    return params


def _dumped(model: Any) -> str:
    text: str = model.model_dump_json(by_alias=True, exclude_none=True)
    return text
