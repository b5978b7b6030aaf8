"""What one policy shows that another does not: a request's own policy may only tighten the one in
force. Each field of a policy is judged here, or declared to show nothing; a field that is neither
fails `tests/unit/test_loosening.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase

import msgspec

from weft_schemas.items import ItemKind
from weft_schemas.policy import (
    ContextPolicy,
    FirewallRules,
    Phase,
    SensitivityAction,
    SignalAction,
    ToolRule,
    lowest_limit,
    most_shown,
    phase_rule,
)

Judge = Callable[[ContextPolicy, ContextPolicy], Iterator[str]]
"""The policy in force and another one → what the other shows in addition, in words."""

_EVERYTHING = float("inf")


def loosened(in_force: ContextPolicy, other: ContextPolicy) -> tuple[str, ...]:
    """Fields of `other` that show more than the policy in force, each with how; none if it only
    tightens."""
    judged = ((path, judge) for path, judge in FIELDS.items() if not isinstance(judge, str))
    return tuple(f"{path}: {how}" for path, judge in judged for how in judge(in_force, other))


def _floor(in_force: ContextPolicy, other: ContextPolicy) -> Iterator[str]:
    was, now = in_force.sensitivity_floor, other.sensitivity_floor
    if now.level > was.level:
        yield f"{now.value} is above {was.value}"


def _action(in_force: ContextPolicy, other: ContextPolicy) -> Iterator[str]:
    """A redacted item still shows that it exists, whose it is and of what kind."""
    if _drops(in_force) and not _drops(other):
        yield "redact shows more than drop"


def _hook(in_force: ContextPolicy, other: ContextPolicy) -> Iterator[str]:
    """Which of two hooks shows more cannot be known; `mask` shows only the level."""
    was, now = in_force.redaction_hook, other.redaction_hook
    if now not in (was, "mask") and not _drops(other):
        yield f"{now!r} may show more than {was!r}"


def _drops(policy: ContextPolicy) -> bool:
    return policy.sensitivity_action is SensitivityAction.DROP


def _untrusted(in_force: ContextPolicy, other: ContextPolicy) -> Iterator[str]:
    fewer = set(in_force.firewall.untrusted_kinds) - set(other.firewall.untrusted_kinds)
    if fewer:
        yield f"{_named(fewer)} would be trusted"


def actions_loosened(in_force: ContextPolicy, other: ContextPolicy) -> Iterator[str]:
    """The same rules in the same order, each equally or more strict, and others after them, show
    nothing more; about any other change this cannot be known."""
    was, now = in_force.firewall.actions or (), other.firewall.actions or ()
    order = list(SignalAction)
    if not any(order.index(rule.action) for rule in was):
        return
    pairs = zip(was, now, strict=False)
    if len(now) < len(was) or any(
        (mine.signal, mine.min_score) != (yours.signal, yours.min_score)
        or order.index(yours.action) < order.index(mine.action)
        for mine, yours in pairs
    ):
        yield "what is flagged may be shown that is not now"


def _kinds(in_force: ContextPolicy, other: ContextPolicy) -> Iterator[str]:
    for phase in Phase:
        more = set(phase_rule(other, phase).kinds) - set(phase_rule(in_force, phase).kinds)
        if more:
            yield f"{phase.value} would show {_named(more)}"


def _limits(in_force: ContextPolicy, other: ContextPolicy) -> Iterator[str]:
    for phase in Phase:
        limits = phase_rule(other, phase).limits
        for kind, most in phase_rule(in_force, phase).limits.items():
            is_shown = kind in phase_rule(other, phase).kinds
            if is_shown and limits.get(kind, _EVERYTHING) > most:
                yield f"{phase.value} would show more than {most} of {kind.value}"


def _memory(field: str) -> Judge:
    def judge(in_force: ContextPolicy, other: ContextPolicy) -> Iterator[str]:
        was, now = getattr(in_force.memory, field), getattr(other.memory, field)
        if not now <= was:
            yield f"{now} is above {was}"

    return judge


def _shown(in_force: ContextPolicy, other: ContextPolicy) -> Iterator[str]:
    return limits_loosened(in_force.firewall, other.firewall)


def limits_loosened(in_force: FirewallRules, other: FirewallRules) -> Iterator[str]:
    """In each policy there is one limit for every tool's name. Globs are compared by what they may
    match: unless it is proved that the limit stays, it counts as loosened."""
    unjudged = UnjudgedTools(in_force)
    for rule in (*other.tools, None):
        glob = rule.tool if rule else "*"
        least = lowest_limit(most_shown(in_force, one) for one in unjudged.taken(glob))
        most = most_shown(other, rule)
        if least is not None and (most is None or most > least):
            yield f"results of {glob!r} would be shown beyond {least} tokens"


class UnjudgedTools:
    """The tools that no glob was taken of yet, by the rules that are about them."""

    def __init__(self, rules: FirewallRules) -> None:
        self._left = [(rule.tool if rule else "*", rule) for rule in (*rules.tools, None)]
        self._past: list[str] = []

    def taken(self, glob: str) -> tuple[ToolRule | None, ...]:
        """The rules of which each may be the first to match a name that this glob is the first to
        match; None is for the names that no rule matches."""
        if any(covers(one, glob) for one in self._past):
            return ()
        end = next(at for at, (known, _) in enumerate(self._left) if covers(known, glob))
        found = [rule for known, rule in self._left[: end + 1] if may_match_both(known, glob)]
        self._left = [one for one in self._left if not covers(glob, one[0])]
        self._past.append(glob)
        return tuple(found)


def covers(one: str, other: str) -> bool:
    """Whether `one` certainly matches everything that `other` matches."""
    if one == other or _is_literal(other):
        return one == other or fnmatchcase(other, one)
    return one.endswith("*") and _is_literal(one[:-1]) and _start(other).startswith(one[:-1])


def may_match_both(one: str, other: str) -> bool:
    """Whether a name could match both: false only if that is certain."""
    if _is_literal(one):
        return fnmatchcase(one, other)
    if _is_literal(other):
        return fnmatchcase(other, one)
    mine, yours = _start(one), _start(other)
    return mine.startswith(yours) or yours.startswith(mine)


def _is_literal(pattern: str) -> bool:
    return _start(pattern) == pattern


def _start(pattern: str) -> str:
    """The part before the first wildcard."""
    return pattern[: min((pattern.find(one) for one in "*?[" if one in pattern), default=None)]


def _named(kinds: set[ItemKind]) -> str:
    return ", ".join(sorted(kind.value for kind in kinds))


_NAME = "a name"
_CALLERS = "how much a prompt holds is the caller's choice: a request has a budget of its own"
_RANKS = "which of the items that may be shown are shown first"
_WORKERS = "read where an item is worked, from the policy in the log, and never from a request"

FIELDS: dict[str, Judge | str] = {
    "name": _NAME,
    "session": "whose policy it is; a request's is for its own session",
    "v": "the schema's version",
    "budgets.route": _CALLERS,
    "budgets.call": _CALLERS,
    "budgets.interpret": _CALLERS,
    "budgets.answer": _CALLERS,
    "phases.kinds": _kinds,
    "phases.weights": _RANKS,
    "phases.limits": _limits,
    "sensitivity_floor": _floor,
    "sensitivity_action": _action,
    "redaction_hook": _hook,
    "selection.recent": _RANKS,
    "selection.matches": _RANKS,
    "selection.neighbours": _RANKS,
    "selection.duplicate_threshold": "without effect",
    "memory.fact_tokens": _memory("fact_tokens"),
    "memory.episode_tokens": _memory("episode_tokens"),
    "memory.header_share": _memory("header_share"),
    "memory.results": _WORKERS,
    "firewall.threshold": "judged with `firewall.show`",
    "firewall.summary_tokens": _WORKERS,
    "firewall.max_facts": _WORKERS,
    "firewall.untrusted_kinds": _untrusted,
    "firewall.pii": _WORKERS,
    "firewall.pii_sensitivity": _WORKERS,
    "firewall.tools.tool": "judged with `firewall.show`",
    "firewall.tools.keep": _WORKERS,
    "firewall.tools.threshold": "judged with `firewall.show`",
    "firewall.tools.passthrough": "judged with `firewall.show`",
    "firewall.tools.always_store": _WORKERS,
    "firewall.tools.sensitivity": _WORKERS,
    "firewall.tools.show": "judged with `firewall.show`",
    "firewall.show": _shown,
    "firewall.actions.signal": actions_loosened,
    "firewall.actions.action": "judged with `firewall.actions.signal`",
    "firewall.actions.min_score": "judged with `firewall.actions.signal`",
    "firewall.masked_kinds": _WORKERS,
    "firewall.secret_patterns.name": _WORKERS,
    "firewall.secret_patterns.pattern": _WORKERS,
    "firewall.known_secrets.key": _WORKERS,
    "firewall.known_secrets.hashes": _WORKERS,
    "firewall.harmless_names": _WORKERS,
    "summaries.item_threshold": _WORKERS,
    "summaries.item_tokens": _WORKERS,
    "summaries.session_tokens": _WORKERS,
}
"""Path of a field → its judge, or why it shows nothing more."""


def fields_of(kind: type[msgspec.Struct], path: str = "") -> Iterator[str]:
    """Paths of all fields, including those of structs within lists and objects."""
    for field in msgspec.structs.fields(kind):
        within = [one for one in _types(field.type) if issubclass(one, msgspec.Struct)]
        for one in within:
            yield from fields_of(one, f"{path}{field.name}.")
        if not within:
            yield f"{path}{field.name}"


def _types(annotation: object) -> Iterator[type]:
    if isinstance(annotation, type) and not getattr(annotation, "__args__", ()):
        yield annotation
    for one in getattr(annotation, "__args__", ()):
        yield from _types(one)
