"""Calls that are not candidates: they are not shown, but the marks of left-out items may name
them."""

from __future__ import annotations

from collections.abc import Sequence

from weft.compiler.candidates.closure import Group, dependency_closure
from weft.compiler.candidates.flags import flags_among
from weft.compiler.candidates.phase_rules import shown_in_phase
from weft.compiler.candidates.sensitivity import withhold
from weft.compiler.ledger import Ledger
from weft.readmodel.view import SessionView
from weft_schemas.items import ItemKind
from weft_schemas.policy import ContextPolicy, Phase, phase_rule


def older_calls(
    view: SessionView, groups: Sequence[Group], policy: ContextPolicy, phase: Phase, most: int
) -> tuple[Group, ...]:
    """At most `most` calls outside `groups`, newest first, without those that the policy keeps from
    the phase or redacts. Empty if the policy limits how many items of a kind are shown."""
    rule = phase_rule(policy, phase)
    if most <= 0 or rule.limits:
        return ()
    known = {group.key for group in groups}
    rows = view.of_kind(ItemKind.TOOL_CALL, most + sum(group.is_call for group in groups))
    rest = [row for row in rows if row.sequence not in known][:most]
    found = dependency_closure(view, rest, Ledger())
    flags = flags_among(view, found)
    told, redacted = withhold(found, flags, policy, Ledger())
    kept = shown_in_phase(told, phase, rule, Ledger())
    untold = known | redacted | flags.keys()
    return tuple(one for one in reversed(kept) if one.is_call and one.key not in untold)
