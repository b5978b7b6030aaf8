"""Which tool a result is of that does not name it: the one that its call names. Each process reads
a session's calls once, and only while a policy has rules for tools."""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import FirewallRules, strictest_rule

MOST_SESSIONS = 256
"""Whose calls are remembered; those of the session that was unused the longest are read again."""


_Call = tuple[int, str]
"""The sequence of a call and the tool that it names."""
_NO_CALL: _Call = (0, "")


class SessionCalls:
    """The tools of one session's calls, as far as it was read."""

    def __init__(self) -> None:
        self.through = 0
        """Sequence up to which the session was read."""
        self._by_id: dict[str, _Call] = {}
        self._by_call_id: dict[str, _Call] = {}

    def add(self, item: ContextItem, sequence: int) -> None:
        """Note a call. Of several with one id the first counts, as everywhere."""
        said = item.reserved
        if item.kind is not ItemKind.TOOL_CALL or item.id in self._by_id:
            return
        self._by_id[item.id] = call = (sequence, said.tool_name or "")
        if said.call_id:
            self._by_call_id[said.call_id] = call

    def tool_of(self, result: ContextItem, sequence: int) -> str:
        """The tool of a result's call; empty if that does not precede it, or names none."""
        call = self._by_id.get(result.parent_id or "")
        call = call or self._by_call_id.get(result.reserved.call_id or "", _NO_CALL)
        return call[1] if call[0] < sequence else ""


class CallNames:
    """The calls of the sessions used last."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[str, str], SessionCalls] = OrderedDict()

    def of(self, tenant: str, session: str) -> SessionCalls:
        place = (tenant, session)
        found = self._sessions.setdefault(place, SessionCalls())
        self._sessions.move_to_end(place)
        if len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return found


def needs_call(item: ContextItem, rules: FirewallRules) -> bool:
    """Whether the rules for a result depend on its call."""
    is_result = item.kind is ItemKind.TOOL_RESULT
    return is_result and bool(rules.tools) and not item.reserved.tool_name


def under_rules(
    item: ContextItem, rules: FirewallRules, tool: str
) -> tuple[ContextItem, FirewallRules]:
    """The result with the name of its tool, and the rules for it: if nobody names the tool, the
    strictest of all, since any may be meant."""
    if tool:
        named = {**item.metadata, "tool_name": tool}
        return msgspec.structs.replace(item, metadata=named), rules
    strictest = strictest_rule(rules)
    return item, rules if strictest is None else msgspec.structs.replace(rules, tools=(strictest,))
