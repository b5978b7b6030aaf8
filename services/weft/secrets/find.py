"""Credentials in a text: the published formats, and values that look random beside a telling name.

A secret that is found leaves this worker only as its keyed fingerprint.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

import re2

from weft.secrets.finding import Finding
from weft.secrets.in_context import IN_CONTEXT
from weft.secrets.published import RULES as PUBLISHED
from weft.secrets.published import WORD_START, SecretRule

RULES = (*PUBLISHED, *IN_CONTEXT)
NAMES = (
    b"passw", b"pwd", b"passphrase", b"secret", b"token", b"credential", b"apikey", b"api_key",
    b"api-key", b"accesskey", b"access_key", b"access-key", b"auth", b"private_key", b"privatekey",
    b"encryption_key", b"signing_key", b"account_key", b"pass", b"x-api-key",
)  # fmt: skip
_ASSIGNED = re2.compile(
    rb"(?i)([\w.-]{0,40}(?:passw(?:or)?d|passwd|pwd|passphrase|secret|token|credentials?"
    rb"|api[_-]?key|access[_-]?key|account[_-]?key|private[_-]?key|encryption[_-]?key"
    rb"|signing[_-]?key|auth|" + WORD_START.encode() + rb"pass|_pass)[\w.-]{0,20})"
    rb"[ \t\\]{0,4}[\"'\]]{0,2}[ \t]{0,4}(?::=|=>|[:=])[ \t\\]{0,5}"
    rb"(?:[bru]?\"([^\"\n]{6,300})\"|[bru]?'([^'\n]{6,300})'|([^\s\"',;)\]}<>(]{6,300}))"
)
_BARE = 4
"""Group of a value without quotes."""
_PASSWORD_NAME = re.compile(rb"(?i)pass|pwd|credential")
_HARMLESS_WORDS = """
page next prev previous cursor sync continuation resume max min num count total limit used usage
prompt completion input output type name path file url uri endpoint field label hint expires expiry
expiration ttl public policy author authors length budget cache arn id ids tokens tokenizer tokenize
authenticated authority passing passed passenger compass bypass reset strength required enabled
rotation manager store provider method mode level version
"""
_HARMLESS = frozenset(_HARMLESS_WORDS.encode().split())
"""Words in a name that make it no secret: a cursor is what the next call needs, a count or a limit
is a number, a type or a path says where a secret is."""
_WORDS = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_NO_VALUE = re.compile(
    rb"(?i)\A(?:none|null|true|false|undefined|required|optional|string|redacted|hidden|masked"
    rb"|password|secret|changeme|your[\w -]*|my[_-]?(?:password|secret|token|key)"
    rb"|the |a |<|\{|\*{3,}|x{4,}|\[|\(|os\.|process\.|self\.|this\."
    rb"|req\.|args\.|(?:env|config|settings|get)(?!\w*[0-9])"
    rb"|https?:"
    rb"|~?/[\w.-]+/|\./|\$[({]|\$[A-Z_]+\Z|%[(s]|%[A-Z_]+%\Z)"
    rb"|xxxx|\*\*\*\*|\.\.\.|placeholder|example|dummy|\(\)|=>|\$\{|\{\{"
)
_CODE = re.compile(rb"\A[A-Za-z_][\w.]*[(\[]|\A[a-z_]+(?:\.[a-z_]+)+\Z")
"""A call, an element, an attribute: what a program does with a password."""
_SAID_OF_PASSWORDS = """
required optional incorrect correct invalid valid wrong missing expired empty blank weak strong set
unset reset changed unchanged needed protected encrypted hashed stored saved updated given provided
entered accepted rejected denied failed disabled enabled hidden shown visible unknown null none true
false string text password passwd pwd token secret value username user email input field here below
above follows following this that these those very also only always never used sent same different
longer shorter least most case-sensitive confirmation confirm length characters being from your
their with must should will been
"""
_SAID = frozenset(_SAID_OF_PASSWORDS.encode().split())
"""What is said of a password rather than what it is."""
_PLAIN_WORDS = re.compile(rb"\A[A-Za-z]+(?:[ _.-][A-Za-z]+)*[.!?]?\Z")
_DIGITS = re.compile(rb"[0-9]")


def find_secrets(data: bytes, present: frozenset[bytes], limit: int) -> list[Finding]:
    """Spans of `data` that hold credentials; they may overlap.

    `present` are those of the rules' needles and of `NAMES` that stand in `data.lower()`. At most
    `limit` findings per rule. Linear in `data`.
    """
    found: list[Finding] = []
    if not present:
        return found
    for rule in _rules_for(present):
        found += _of_rule(rule, data, limit)
    if not present.isdisjoint(NAMES):
        found += _assigned(data, limit)
    return found


@lru_cache(maxsize=1_024)
def _rules_for(present: frozenset[bytes]) -> tuple[SecretRule, ...]:
    return tuple(rule for rule in RULES if not present.isdisjoint(rule.needles))


def _of_rule(rule: SecretRule, data: bytes, limit: int) -> Iterator[Finding]:
    for match in islice(rule.pattern.finditer(data), limit):
        start, end = match.span(rule.group)
        if rule.closed_by and match.group(rule.closed_by) is not None:
            end = match.end(rule.closed_by)
        elif rule.closed_by:
            end = start + len(data[start:end].rstrip(b" \\"))
        value = data[start:end]
        if _passes(rule, value) and (not rule.doubtful or looks_random(value)):
            yield Finding(start, end, "secret", rule.name)


def _passes(rule: SecretRule, value: bytes) -> bool:
    """Whether a value is what its rule is about, and not what a manual shows, such as
    `<password>` or `****`, or what a sentence says of a password."""
    if rule.name == "url_password":
        return _NO_VALUE.search(value) is None and value not in (b"pass", b"pwd", b"pw")
    if not rule.check:
        return True
    if _NO_VALUE.search(value):
        return False
    if rule.check == "shown":
        return True
    told = value.strip(b" .!?:)*_").lower()
    if told in _SAID or _CODE.search(value):
        return False
    return rule.check == "word" or _PLAIN_WORDS.search(value) is None


def _assigned(data: bytes, limit: int) -> list[Finding]:
    found: list[Finding] = []
    for match in islice(_ASSIGNED.finditer(data), limit):
        group = next(g for g in (2, 3, 4) if match.group(g) is not None)
        # What is left of an escaped quote at the end belongs to the text around the value.
        name, value = match.group(1), match.group(group).rstrip(b" \\")
        if _is_secret_value(name, value):
            start = match.start(group)
            end = start + len(value)
            # A backslash before a bare value is its first character's.
            while data[start - 1 : start] == b"\\" and group == _BARE:
                start -= 1
            found.append(Finding(start, end, "secret", _label(name)))
    return found


def _label(name: bytes) -> str:
    return "password" if _PASSWORD_NAME.search(name) else "assigned_secret"


def _is_secret_value(name: bytes, value: bytes) -> bool:
    if _NO_VALUE.search(value) or _is_harmless(name):
        return False
    if _PASSWORD_NAME.search(name):
        # A sentence about passwords is prose; a password with a digit or a sign is not.
        is_prose = b" " in value.strip() or _PLAIN_WORDS.search(value) is not None
        return not is_prose and _CODE.search(value) is None
    return len(value) >= 12 and b" " not in value and looks_random(value)


def _is_harmless(name: bytes) -> bool:
    return any(word.lower() in _HARMLESS for word in _WORDS.findall(name))


def looks_random(value: bytes) -> bool:
    """Whether a value reads like a key rather than a word: digits among letters, and at least 3
    bits of entropy per character (English words in identifiers have about 2.5 at this length)."""
    if len(value) < 12 or not _DIGITS.search(value) or _PLAIN_WORDS.search(value):
        return False
    if value.replace(b".", b"").replace(b"-", b"").replace(b":", b"").isdigit():
        return False
    return entropy(value[:256]) >= 3.0


def entropy(value: bytes) -> float:
    """Shannon entropy in bits per byte."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values())
