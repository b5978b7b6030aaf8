"""The rules about tools' results for a session with a policy of its own: the session's, except that
no result is shown beyond the tenant's limit or has a lower level than the tenant gives it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from weft_schemas.items import Sensitivity
from weft_schemas.loosening import UnjudgedTools, covers, limits_loosened
from weft_schemas.policy import FirewallRules, ToolRule, lowest_limit, most_shown, show_up_to


def combined_tool_rules(tenants: FirewallRules, sessions: FirewallRules) -> FirewallRules:
    """The session's rules with the stricter `show` and `sensitivity` for each tool. The tenant's
    globs stand before the session's rules that cover them; a rule that may be about some of the
    tools of a tenant's glob is as strict as that for all of its own."""
    if not any(limits_loosened(tenants, sessions)) and not _lowers_levels(tenants, sessions):
        return sessions
    default = most_shown(sessions, None)
    least = lowest_limit((default, most_shown(tenants, None)))
    show = sessions.show if least == default else show_up_to(least)
    defaults = replace(sessions, show=show, tools=())
    made: list[ToolRule] = []
    unjudged = UnjudgedTools(tenants)
    for mine in (*sessions.tools, None):
        for glob in _globs(tenants, mine, made):
            counting = unjudged.taken(glob)
            limits = (most_shown(tenants, one) for one in counting)
            most = lowest_limit((most_shown(sessions, mine), *limits))
            own = replace(mine, tool=glob) if mine else ToolRule(glob)
            rule = replace(own, sensitivity=_highest((mine, *counting)))
            made.append(_with_limit(rule, most, defaults))
    return replace(defaults, tools=tuple(made))


def _globs(
    tenants: FirewallRules, mine: ToolRule | None, made: Sequence[ToolRule]
) -> Iterator[str]:
    """The tenant's globs within the session's rule (None: for the tools of no rule), then the
    rule's own; without those that have no effect because of one before."""
    whole = mine.tool if mine else "*"
    known = [one.tool for one in made]
    for rule in tenants.tools:
        if covers(whole, rule.tool) and not any(covers(one, rule.tool) for one in known):
            known.append(rule.tool)
            yield rule.tool
    if mine is not None and not any(covers(one, whole) for one in known):
        yield whole


def _lowers_levels(tenants: FirewallRules, sessions: FirewallRules) -> bool:
    unjudged = UnjudgedTools(tenants)
    return any(
        _highest((mine, *unjudged.taken(mine.tool if mine else "*"))) is not _highest((mine,))
        for mine in (*sessions.tools, None)
    )


def _highest(rules: Sequence[ToolRule | None]) -> Sensitivity | None:
    level: Sensitivity | None = None
    for rule in rules:
        if rule is not None and rule.sensitivity is not None:
            level = rule.sensitivity.raised_to(level) if level else rule.sensitivity
    return level


def _with_limit(rule: ToolRule, most: int | None, rules: FirewallRules) -> ToolRule:
    if most_shown(rules, rule) == most:
        return rule
    return replace(rule, show=show_up_to(most), passthrough=rule.passthrough and most is None)
