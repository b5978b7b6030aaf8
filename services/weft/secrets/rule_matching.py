"""Credentials in a text, found by their published formats and by the words around them.

A secret that is found leaves this worker only as its keyed fingerprint.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

import msgspec

from weft.secrets.assigned import NAMES, assigned_secrets
from weft.secrets.harmless import WEFTS, HarmlessValues
from weft.secrets.hashes import HASHES
from weft.secrets.in_code import IN_CODE
from weft.secrets.in_columns import NAMES as OF_COLUMNS
from weft.secrets.in_columns import values_of_columns
from weft.secrets.in_commands import IN_COMMANDS
from weft.secrets.in_context import IN_CONTEXT
from weft.secrets.in_languages import IN_LANGUAGES
from weft.secrets.in_manifests import NAMES as OF_MANIFESTS
from weft.secrets.in_manifests import values_of_secrets
from weft.secrets.in_output import IN_OUTPUT
from weft.secrets.masking import Finding
from weft.secrets.members import NAMES as OF_MEMBERS
from weft.secrets.members import values_of_members
from weft.secrets.names import NEAR, name_before
from weft.secrets.private_keys import NAMES as OF_PRIVATE_KEYS
from weft.secrets.private_keys import private_keys
from weft.secrets.published import RULES as PUBLISHED
from weft.secrets.rule import SecretRule, compiled
from weft.secrets.values import (
    is_code,
    is_key_like,
    is_mixed,
    is_place,
    is_placeholder,
    is_plain,
    is_said,
    looks_random,
)
from weft.secrets.vendors import VENDORS

_FORMATS = (*PUBLISHED, *VENDORS, *HASHES)
_TOGETHER = (
    (_FORMATS, 40),
    (IN_CONTEXT, 8),
    (IN_OUTPUT, 12),
    (IN_COMMANDS, 32),
    (IN_LANGUAGES, 4),
)
"""How many rules RE2 searches for together as fast as for one. Not those that may begin nearly
everywhere, nor those for code: their automata multiply."""
RULES = (*_FORMATS, *IN_CONTEXT, *IN_OUTPUT, *IN_COMMANDS, *IN_CODE, *IN_LANGUAGES)

_LONG = 200
"""How many bytes of a value its rule's pattern may have cut off."""
_GOES_ON = re.compile(rb"[A-Za-z0-9+/=_.~%-]{0,8000}")


def find_secrets(
    data: bytes, present: frozenset[bytes], harmless: HarmlessValues = WEFTS
) -> list[Finding]:
    """Spans of `data` that contain credentials; they may overlap.

    `present` are those of the rules' needles, and of the modules' names, that occur in
    `data.lower()`. Every one is found, however many there are: what is left out would be shown.
    Values next to a name stay if they are `harmless`. Linear in the length of `data`.
    """
    found: list[Finding] = []
    if not present:
        return found
    for number in _may_match(data, _rules_for(present)):
        found += _of_rule(RULES[number], data, harmless)
    if not present.isdisjoint(OF_PRIVATE_KEYS):
        found += private_keys(data)
    if not present.isdisjoint(NAMES):
        found += assigned_secrets(data, harmless)
    if not present.isdisjoint(OF_MEMBERS):
        found += values_of_members(data, harmless)
    if not present.isdisjoint(OF_COLUMNS):
        found += values_of_columns(data, harmless)
    if not present.isdisjoint(OF_MANIFESTS):
        found += values_of_secrets(data)
    return found


@lru_cache(maxsize=1_024)
def _rules_for(present: frozenset[bytes]) -> tuple[int, ...]:
    """The numbers of the rules with a needle that is present."""
    return tuple(
        number for number, rule in enumerate(RULES) if not present.isdisjoint(rule.needles)
    )


_LARGE = 32_768
"""Least bytes of a text in which rules are searched for together: a smaller one is searched sooner
than more patterns are compiled."""


def _may_match(data: bytes, numbers: tuple[int, ...]) -> Iterator[int]:
    """Those of the rules that may match, by their numbers. In a large text, one search tells that
    none of a group does."""
    wanted = frozenset(numbers)
    absent: set[int] = set()
    for group in rule_groups() if len(data) >= _LARGE else ():
        if len(wanted & group.numbers) > 1 and group.pattern.search(data) is None:
            absent |= group.numbers
    return (number for number in numbers if number not in absent)


class _Group(msgspec.Struct, frozen=True):
    """Rules that are searched for together."""

    numbers: frozenset[int]

    @property
    def pattern(self) -> Any:
        """Matches wherever the pattern of one of the rules does."""
        return compiled(b"|".join(b"(?:%b)" % RULES[one].source for one in sorted(self.numbers)))


@cache
def rule_groups() -> tuple[_Group, ...]:
    """The rules that are searched for together; the others are searched for alone."""
    places = {id(rule): number for number, rule in enumerate(RULES)}
    found = []
    for rules, size in _TOGETHER:
        numbers = [places[id(rule)] for rule in rules if not rule.floats]
        found += [frozenset(numbers[at : at + size]) for at in range(0, len(numbers), size)]
    return tuple(map(_Group, found))


def _of_rule(rule: SecretRule, data: bytes, harmless: HarmlessValues) -> Iterator[Finding]:
    for match in rule.pattern.finditer(data):
        start, end = match.span(rule.group)
        # The rest of an escape at the end belongs to the text around the value.
        end = start + len(data[start:end].rstrip(b" \\"))
        if end == start:
            continue
        if end - start >= _LONG:
            end = _GOES_ON.match(data, end).end()  # type: ignore[union-attr]
        value = data[start:end]
        if rule.named and harmless.has(name_before(data[max(0, start - NEAR) : start]), value):
            continue
        if _passes(rule, value) and (not rule.doubtful or looks_random(value)):
            yield Finding(start, end, "secret", rule.name)


def _passes(rule: SecretRule, value: bytes) -> bool:
    """Whether a value is what its rule looks for, and not an example from a manual, such as
    `<password>` or `****`, or what a sentence says about a password."""
    if not rule.check:
        return True
    if is_placeholder(value):
        return False
    if rule.check == "shown":
        return True
    if rule.check == "key":
        return is_key_like(value)
    if is_said(value) or is_code(value):
        return False
    if rule.check == "mixed":
        return is_mixed(value) and not is_place(value)
    return rule.check == "word" or not is_plain(value)
