"""What holds for a session that has a policy of its own: that policy, except that it may not
conceal less than the tenant's. A policy in the log has a value in every field, so one published
for its budgets alone would otherwise set the tenant's floor back to the default."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from weft_schemas.combined_tool_rules import combined_tool_rules
from weft_schemas.items import LEVELS, ItemKind
from weft_schemas.loosening import actions_loosened, covers
from weft_schemas.policy import (
    ContextPolicy,
    FirewallRules,
    MemoryRules,
    Phase,
    PhaseRule,
    PiiAction,
    SensitivityAction,
    phase_rule,
)
from weft_schemas.ranges import clamped

T = TypeVar("T")

Versioned = tuple[int, ContextPolicy]
"""A policy and the log sequence of its event; 0 is the default's."""

DEFAULT: Versioned = (0, ContextPolicy())
_policy = msgspec.json.Decoder(ContextPolicy)

STRICTER = frozenset(
    {
        "phases.kinds",
        "phases.limits",
        "sensitivity_floor",
        "sensitivity_action",
        "redaction_hook",
        "memory.fact_tokens",
        "memory.episode_tokens",
        "memory.header_share",
        "firewall.untrusted_kinds",
        "firewall.pii",
        "firewall.pii_sensitivity",
        "firewall.show",
        "firewall.tools.show",
        "firewall.tools.sensitivity",
        "firewall.masked_kinds",
        "firewall.secret_patterns.name",
        "firewall.secret_patterns.pattern",
        "firewall.known_secrets.key",
        "firewall.known_secrets.hashes",
        "firewall.harmless_names",
        "firewall.actions.signal",
        "firewall.actions.action",
        "firewall.actions.min_score",
    }
)
"""Paths of the fields of which the stricter value holds, the tenant's or the session's. All others
are the session's."""


def in_force(tenants: Versioned | None, sessions: Versioned | None) -> Versioned:
    """The policy of a session by its own newest policy and by its tenant's. The version is the
    newer sequence of the two, so that it names one policy."""
    if tenants is None or sessions is None:
        return sessions or tenants or DEFAULT
    return max(tenants[0], sessions[0]), combined(tenants[1], sessions[1])


def encoded_in_force(policies: Iterable[tuple[str, int, bytes]]) -> Versioned:
    """The same of (session, sequence, policy as JSON), in which the tenant's session is empty.
    Numbers that an older release accepted are put within their ranges."""
    found = {bool(session): (version, body) for session, version, body in policies}
    if not found:
        return DEFAULT
    bodies = (found[one][1] if one in found else b"" for one in (False, True))
    return max(version for version, _ in found.values()), _of_bodies(*bodies)


@lru_cache(maxsize=256)
def _of_bodies(tenants: bytes, sessions: bytes) -> ContextPolicy:
    made = [(1, clamped(_policy.decode(body))) if body else None for body in (tenants, sessions)]
    return in_force(*made)[1]


def combined(tenants: ContextPolicy, sessions: ContextPolicy) -> ContextPolicy:
    """The session's policy with the stricter value of each field of `STRICTER`."""
    actions = (tenants.sensitivity_action, sessions.sensitivity_action)
    hook = sessions.redaction_hook
    return replace(
        sessions,
        phases={
            phase: _phase(phase_rule(tenants, phase), phase_rule(sessions, phase))
            for phase in Phase
        },
        sensitivity_floor=min(
            tenants.sensitivity_floor, sessions.sensitivity_floor, key=LEVELS.index
        ),
        sensitivity_action=(
            SensitivityAction.DROP if SensitivityAction.DROP in actions else actions[0]
        ),
        # Of two hooks nobody knows which shows more; `mask` shows the level alone.
        redaction_hook=hook if hook == tenants.redaction_hook else "mask",
        memory=_memory(tenants.memory, sessions.memory),
        firewall=_firewall(tenants, sessions),
    )


def overruled(sessions: ContextPolicy, tenants: ContextPolicy) -> tuple[str, ...]:
    """Paths of the fields of which the tenant's policy makes something else than the session's
    says."""
    made = combined(tenants, sessions)
    phases = (
        path
        for one in Phase
        for path in _differing(phase_rule(sessions, one), phase_rule(made, one), "phases.")
    )
    others = _differing(replace(sessions, phases={}), replace(made, phases={}))
    return tuple(dict.fromkeys((*phases, *others)))


def _differing(one: msgspec.Struct, other: msgspec.Struct, path: str = "") -> Iterator[str]:
    for field in one.__struct_fields__:
        mine, yours = getattr(one, field), getattr(other, field)
        if field in ("firewall", "memory"):
            yield from _differing(mine, yours, f"{field}.")
        elif mine != yours:
            yield f"{path}{field}"


def _phase(tenants: PhaseRule, sessions: PhaseRule) -> PhaseRule:
    kinds = tuple(one for one in sessions.kinds if one in tenants.kinds)
    least = {
        kind: min(most, sessions.limits.get(kind, most))
        for kind, most in tenants.limits.items()
        if kind in kinds
    }
    return replace(sessions, kinds=kinds, limits={**sessions.limits, **least})


def _memory(tenants: MemoryRules, sessions: MemoryRules) -> MemoryRules:
    return replace(
        sessions,
        fact_tokens=min(tenants.fact_tokens, sessions.fact_tokens),
        episode_tokens=min(tenants.episode_tokens, sessions.episode_tokens),
        header_share=min(tenants.header_share, sessions.header_share),
    )


def _firewall(of_tenant: ContextPolicy, of_session: ContextPolicy) -> FirewallRules:
    tenants, sessions = of_tenant.firewall, of_session.firewall
    is_looser = any(actions_loosened(of_tenant, of_session))
    return replace(
        combined_tool_rules(tenants, sessions),
        untrusted_kinds=_union(tenants.untrusted_kinds, sessions.untrusted_kinds),
        pii=sessions.pii if tenants.pii is PiiAction.FLAG else tenants.pii,
        pii_sensitivity=sessions.pii_sensitivity.raised_to(tenants.pii_sensitivity),
        masked_kinds=_masked(tenants, sessions),
        secret_patterns=_union(tenants.secret_patterns or (), sessions.secret_patterns or ())
        or UNSET,
        # Two lists with different keys cannot be made one.
        known_secrets=tenants.known_secrets or sessions.known_secrets,
        harmless_names=_harmless(tenants, sessions),
        actions=(*(tenants.actions or ()), *(sessions.actions or ()))
        if is_looser
        else sessions.actions,
    )


def _masked(tenants: FirewallRules, sessions: FirewallRules) -> tuple[ItemKind, ...] | UnsetType:
    """Without a list, all kinds are masked."""
    if isinstance(tenants.masked_kinds, UnsetType) or isinstance(sessions.masked_kinds, UnsetType):
        return UNSET
    return _union(tenants.masked_kinds, sessions.masked_kinds)


def _harmless(tenants: FirewallRules, sessions: FirewallRules) -> tuple[str, ...] | UnsetType:
    """The names that are harmless under both, by the narrower of two globs."""
    mine, theirs = sessions.harmless_names or (), tenants.harmless_names or ()
    both = [one for one in mine if any(covers(other, one) for other in theirs)]
    both += [one for one in theirs if any(covers(other, one) for other in mine)]
    found = tuple(dict.fromkeys(both))
    return sessions.harmless_names if found == mine else found or UNSET


def _union(first: tuple[T, ...], second: tuple[T, ...]) -> tuple[T, ...]:
    return (*first, *(one for one in second if one not in first))
