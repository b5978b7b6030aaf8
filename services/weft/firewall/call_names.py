"""Finds the tool of a result that does not name it: the one that its call names. Each process reads
a session's calls once, and only while a policy has rules for tools."""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import FirewallRules, strictest_rule

MAX_SESSIONS, MAX_CALLS = 500, 200_000
"""How many sessions are remembered, and how many calls in all, about 50 MB; those of the sessions
that were unused the longest are read again."""


_Call = tuple[int, str]
"""The sequence of a call and the tool that it names."""


class SessionCalls:
    """The tools of one session's calls, as far as it was read."""

    def __init__(self) -> None:
        self.through = 0
        """Sequence up to which the session was read."""
        self._by_id: dict[str, _Call] = {}
        self._by_call_id: dict[str, list[_Call]] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def add(self, item: ContextItem, sequence: int) -> None:
        """Note a call. Of several with one id the first counts, as everywhere."""
        said = item.reserved
        if item.kind is not ItemKind.TOOL_CALL or item.id in self._by_id:
            return
        self._by_id[item.id] = call = (sequence, said.tool_name or "")
        if said.call_id:
            self._by_call_id.setdefault(said.call_id, []).append(call)

    def tool_of(self, result: ContextItem, sequence: int) -> str:
        """The tool of a result's call; empty if that does not precede it, or names none. Of several
        calls with its `call_id`, which some models use again, the nearest counts."""
        call = self._by_id.get(result.parent_id or "")
        alike = self._by_call_id.get(result.reserved.call_id or "", ())
        calls = (call,) if call is not None else reversed(alike)
        return next((tool for at, tool in calls if at < sequence), "")


class CallNames:
    """The calls of the sessions used last."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[str, str], SessionCalls] = OrderedDict()

    def of(self, tenant: str, session: str) -> SessionCalls:
        place = (tenant, session)
        found = self._sessions.setdefault(place, SessionCalls())
        self._sessions.move_to_end(place)
        while len(self._sessions) > 1 and self._is_full():
            self._sessions.popitem(last=False)
        return found

    def _is_full(self) -> bool:
        is_many = len(self._sessions) > MAX_SESSIONS
        return is_many or sum(map(len, self._sessions.values())) > MAX_CALLS


def needs_call(item: ContextItem, rules: FirewallRules) -> bool:
    """Whether the rules for a result depend on its call."""
    is_result = item.kind is ItemKind.TOOL_RESULT
    return is_result and bool(rules.tools) and not item.reserved.tool_name


def under_rules(
    item: ContextItem, rules: FirewallRules, tool: str
) -> tuple[ContextItem, FirewallRules]:
    """The result with the name of its tool, and the rules for it: if neither names the tool, the
    strictest of all, since any may apply."""
    if tool:
        named = {**item.metadata, "tool_name": tool}
        return msgspec.structs.replace(item, metadata=named), rules
    strictest = strictest_rule(rules)
    return item, rules if strictest is None else msgspec.structs.replace(rules, tools=(strictest,))
