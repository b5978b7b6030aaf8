"""Applies a policy's rules for tools to results that do not name their tool: the tool of their call
counts. Envelopes of earlier releases, and of results that came before their calls, ignore it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from weft.compiler.candidates.closure import Group
from weft.readmodel.rows import ItemRow
from weft_schemas.items import ItemKind
from weft_schemas.policy import FirewallRules, ToolRule, rule_of_result


def rule_of(row: ItemRow, call: ItemRow, rules: FirewallRules) -> ToolRule | None:
    """The rule for a result of this call."""
    return rule_of_result(rules, row.tool_name, call.tool_name)


def with_call_sensitivity(groups: Iterable[Group], rules: FirewallRules) -> tuple[Group, ...]:
    """The groups, with each result that does not name its tool at the level of its call's tool."""
    return tuple(_with_call_sensitivity(group, rules) if rules.tools else group for group in groups)


def _with_call_sensitivity(group: Group, rules: FirewallRules) -> Group:
    call = group.rows[0]
    rows = tuple(_at_rule_level(row, call, rules) for row in group.rows)
    return group if rows == group.rows else msgspec.structs.replace(group, rows=rows)


def _at_rule_level(row: ItemRow, call: ItemRow, rules: FirewallRules) -> ItemRow:
    if row.kind is not ItemKind.TOOL_RESULT or row.tool_name:
        return row
    rule = rule_of(row, call, rules)
    if rule is None or rule.sensitivity is None:
        return row
    level = row.sensitivity.raised_to(rule.sensitivity)
    return row if level is row.sensitivity else msgspec.structs.replace(row, sensitivity=level)
