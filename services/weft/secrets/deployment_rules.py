"""The rules by which a deployment itself declares secrets: patterns of its own, values known by
their keyed hash, and personal data; and names whose values it declares to be none. Read from the
policy once and cached."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Any

import msgspec
import re2

from weft.secrets.harmless import WEFTS, HarmlessValues
from weft.secrets.known_values import KnownSecretFinder, known_of
from weft.secrets.masking import Finding
from weft_schemas.errors import InvalidInput
from weft_schemas.policy import FirewallRules, KnownSecrets, PiiAction, SecretPattern

_log = logging.getLogger(__name__)

MAX_PATTERNS = 100
"""How many patterns of one policy are used: each costs a pass over every text."""
_MEMORY = 8 << 20
"""Memory that RE2 may use for one of them, in bytes: a pattern that needs more is not the pattern
of a secret."""


class DeploymentRule(msgspec.Struct, frozen=True):
    name: str
    pattern: Any
    group: int
    """Which group is the secret."""


class DeploymentRules(msgspec.Struct, frozen=True):
    """Rules in addition to weft's."""

    rules: tuple[DeploymentRule, ...] = ()
    known: KnownSecretFinder | None = None
    is_personal_masked: bool = False
    """Whether personal data is masked wherever credentials are."""
    harmless: HarmlessValues = WEFTS
    """Which values next to a telling name are none."""

    def find(self, data: bytes) -> list[Finding]:
        """Linear in `data`."""
        found: list[Finding] = []
        for rule in self.rules:
            for match in rule.pattern.finditer(data):
                start, end = match.span(rule.group)
                if 0 <= start < end:
                    found.append(Finding(start, end, "secret", rule.name))
        if self.known is not None:
            found += self.known.find(data)
        return found


NONE = DeploymentRules()


def deployment_rules(rules: FirewallRules) -> DeploymentRules:
    """The rules that a policy adds. A pattern that RE2 rejects is left out and logged; publishing a
    policy with one is refused (`check_patterns`)."""
    patterns, names = _patterns(rules), rules.harmless_names or ()
    known = None if isinstance(rules.known_secrets, msgspec.UnsetType) else rules.known_secrets
    is_personal_masked = rules.pii is PiiAction.MASK
    if not patterns and known is None and not is_personal_masked and not names:
        return NONE
    return _own(patterns, known, is_personal_masked, names)


def _patterns(rules: FirewallRules) -> tuple[SecretPattern, ...]:
    return () if isinstance(rules.secret_patterns, msgspec.UnsetType) else rules.secret_patterns


@lru_cache(maxsize=256)
def _own(
    patterns: tuple[SecretPattern, ...],
    known: KnownSecrets | None,
    is_personal_masked: bool,
    names: tuple[str, ...],
) -> DeploymentRules:
    made = [rule for one in patterns[:MAX_PATTERNS] if (rule := _rule(one)) is not None]
    finder = known_of(known) if known is not None else None
    return DeploymentRules(tuple(made), finder, is_personal_masked, HarmlessValues(names))


def _rule(one: SecretPattern) -> DeploymentRule | None:
    compiled = _compiled(one.pattern)
    if isinstance(compiled, str):
        _log.error(
            "the secret pattern %r of a policy masks nothing, since it cannot be run; publish the "
            "policy without look-around and back-references in it",
            one.name,
        )
        return None
    group = 1 if compiled.groups else 0
    return DeploymentRule(one.name, compiled, group)


def _compiled(pattern: str) -> Any:
    """The pattern for bytes of UTF-8, or why there is none."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return re2.compile(pattern.encode(), options)
    except re2.error as error:
        return str(error)


def check_patterns(rules: FirewallRules, source: str) -> None:
    """Raises `InvalidInput` that names the `source` if one of the patterns cannot be run."""
    if faults := faults_of(rules):
        raise InvalidInput(f"{source}: {'; '.join(faults)}")


def faults_of(rules: FirewallRules) -> list[str]:
    """The faults of a policy's patterns, one sentence each."""
    found = [
        f"the secret pattern {one.name!r} cannot be run: {why}; RE2 knows no look-around and no "
        "back-references"
        for one in _patterns(rules)
        if isinstance(why := _compiled(one.pattern), str)
    ]
    if len(_patterns(rules)) > MAX_PATTERNS:
        found.append(
            f"{len(_patterns(rules))} secret patterns are more than the {MAX_PATTERNS} that "
            "are run; join some of them"
        )
    return found
