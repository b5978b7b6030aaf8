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
from weft.secrets.published import SERVICES, WORD_START, SecretRule

RULES = (*PUBLISHED, *IN_CONTEXT)
NAMES = (
    b"passw", b"pwd", b"passphrase", b"secret", b"token", b"credential", b"apikey", b"api_key",
    b"api-key", b"accesskey", b"access_key", b"access-key", b"auth", b"private_key", b"privatekey",
    b"encryption_key", b"signing_key", b"account_key", b"pass", b"x-api-key", b"pw", b"p/w",
    b"api key", b"access key", b"private key", b"api.key", b"key=", b"key:", b'key"', b"key'",
    b"key ",
)  # fmt: skip
_ASSIGNED = re2.compile(
    rb"(?i)([\w.-]{0,40}(?:passw(?:or)?d|passwd|pwd|passphrase|secret(?: key)?|token|credentials?"
    rb"|(?:user|db|root|admin|mysql|ftp|smtp)_?pass|" + SERVICES.encode() + rb"[._ -]?key"
    rb"|api[ ._-]?key|access[ _-]?key|account[_-]?key|private[ _-]?key|encryption[_-]?key"
    rb"|signing[_-]?key|auth(?:entication key)?|"
    + WORD_START.encode()
    + rb"(?:pass|pw|p/w)|[_-](?:pass|pw))[\w.-]{0,20})"
    rb"[ \t\\]{0,4}[\"'\]]{0,2}[ \t]{0,4}(?::=|=>|[!=]={1,2}|=|:)[ \t\\]{0,5}"
    rb"(?:[bfru]?\"([^\"\n]{6,300})\"|[bfru]?'([^'\n]{6,300})'|([^\s\"',;)\]}<>(]{6,300}))"
)
_BARE = 4
"""Group of a value without quotes."""
_PASSWORD_NAME = re.compile(rb"(?i)pass|pwd|credential|(?:^|[_-])p/?w$")
_KEY_NAME = re.compile(
    rb"(?i)(?:api|access|secret|private|account|encryption|signing)[ _-]?key|secret|token"
)
"""Names of which a value with letters and digits is a key, however short."""
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
    rb"|(?:password|secret)(?![0-9])|changeme|your[\w -]*|my[_-]?(?:password|secret|token|key)"
    rb"|the |a |<|\{|\*{3,}|x{4,}|\[|\(|os\.|process\.|self\.|this\."
    rb"|req\.|args\.|(?:env|config|settings|get)(?![^\s(\[]*[0-9])"
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
varchar nvarchar boolean integer number object bytes binary optional nullable secretstr unset unused
inherit manual automatic enable disable visible display password1 include exclude private public
hashing cleartext plaintext plain length format pattern regex schema title label
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
    if rule.check == "mixed":
        return is_mixed(value) and _PLACE.search(value) is None
    return rule.check == "word" or not is_plain(value)


def _assigned(data: bytes, limit: int) -> list[Finding]:
    found: list[Finding] = []
    for match in islice(_ASSIGNED.finditer(data), limit):
        group = next(g for g in (2, 3, 4) if match.group(g) is not None)
        # What is left of an escaped quote at the end belongs to the text around the value.
        name, value = match.group(1), match.group(group).rstrip(b" \\")
        if group == _BARE and data[match.start() - 1 : match.start()] in (b"?", b"&"):
            value = value.partition(b"&")[0]
        elif group == _BARE and data[match.end(group) : match.end(group) + 1] in (b"(", b"["):
            continue  # what a program does with one
        alone = group != _BARE or _is_field(data, match.start(), match.end(group))
        if _is_secret_value(name, value, alone, group != _BARE):
            start = match.start(group)
            end = start + len(value)
            # A backslash before a bare value is its first character's.
            while data[start - 1 : start] == b"\\" and group == _BARE:
                start -= 1
            found.append(Finding(start, end, "secret", _label(name)))
    return found


def _label(name: bytes) -> str:
    return "password" if _PASSWORD_NAME.search(name) else "assigned_secret"


_FIELD_BEGINS = re.compile(rb"(?:\A|[\n;&?])[ \t-]{0,40}(?:export |set |\$env:|\$)?\Z")
_FIELD_ENDS = re.compile(rb"[ \t]{0,8}(?:\Z|\\?[\r\n;&]|,?[ \t]*\\?[\r\n]|[ \t](?:#|//))")
_AROUND = 64
"""Bytes around a value that are looked at."""


def _is_field(data: bytes, start: int, end: int) -> bool:
    """Whether a name and its bare value are all of a line, or of a field of a connection string:
    a setting, where in running text a sentence goes on."""
    before = data[max(0, start - _AROUND) : start]
    if before[-1:] in (b"?", b"&", b";"):
        return True
    behind = data[end : end + _AROUND]
    return _FIELD_ENDS.match(behind) is not None and _FIELD_BEGINS.search(before) is not None


def _is_secret_value(name: bytes, value: bytes, alone: bool, quoted: bool) -> bool:
    """`alone`: it stands in quotes, or is all of a field; a bare one may be a variable."""
    if _NO_VALUE.search(value) or _is_harmless(name) or b" " in value.strip():
        return False
    plain = is_plain(value)
    if _PASSWORD_NAME.search(name):
        # A sentence about passwords is prose; a password with a digit or a sign is not.
        if _CODE.search(value):
            return False
        return not plain or (alone and is_word_of_secrecy(value, quoted))
    if len(value) >= 12 and looks_random(value):
        return True
    if not alone or len(value) < 8 or _KEY_NAME.search(name) is None:
        return False
    if len(value) >= _LONG_NUMBER and value.isdigit():
        return _KEYS_NAME.search(name) is not None
    if plain:
        return _KEYS_NAME.search(name) is not None and is_word_of_secrecy(value, quoted)
    return is_mixed(value) and _PLACE.search(value) is None


_LONG_NUMBER = 16
"""Digits that are no count, beside the name of a key."""
_KEYS_NAME = re.compile(
    rb"(?i)(?:(?:api|access|secret|private|signing|encryption)[ _-]?key|secret|auth_?token)$"
)
_LETTERS = re.compile(rb"[A-Za-z]")
_PLACE = re.compile(
    rb"(?i)[/\\.:]|\A[0-9]{4}-[0-9]{2}|\A[0-9]+(?:ms|s|m|h|d|k|mb|gb|px|%)?\Z|\Av[0-9]"
)
"""Paths, addresses, times, sizes and versions."""
_NAMED = re.compile(
    rb"(?i)pass|pwd|secret|token|key|user|name|login|auth|cred|default|value|env|config"
)


def is_word_of_secrecy(value: bytes, quoted: bool) -> bool:
    """Whether a plain word beside a password's name can be one: no word of types, states or labels,
    and no name of a variable that holds it."""
    told = value.strip(b" .!?:)*_").lower()
    return (
        len(told) >= 6
        and told not in _SAID
        and (quoted or (_NAMED.search(told) is None and b"_" not in value))
        and b" " not in value
    )


def _is_harmless(name: bytes) -> bool:
    return any(word.lower() in _HARMLESS for word in _WORDS.findall(name))


def looks_random(value: bytes) -> bool:
    """Whether a value reads like a key rather than a word: digits among letters, and at least 3
    bits of entropy per character (English words in identifiers have about 2.5 at this length)."""
    if len(value) < 12 or not (_DIGITS.search(value) or is_irregular(value)) or is_plain(value):
        return False
    if value.replace(b".", b"").replace(b"-", b"").replace(b":", b"").isdigit():
        return False
    return entropy(value[:256]) >= 3.0


def is_mixed(value: bytes) -> bool:
    """Whether letters and digits stand in it."""
    return _LETTERS.search(value) is not None and _DIGITS.search(value) is not None


def is_plain(value: bytes) -> bool:
    """Whether a value is words of letters alone, written as words are."""
    return _PLAIN_WORDS.search(value) is not None and not is_irregular(value)


def is_irregular(value: bytes) -> bool:
    """Whether small and capital letters change as in no word and no name: a fifth at least are of
    the rarer kind, and both stand side by side more often than words begin."""
    if len(value) < 16 or b" " in value:
        return False
    capitals, small = len(_CAPITALS.findall(value)), len(_SMALL.findall(value))
    changes = len(_CHANGES.findall(value))
    return min(capitals, small) * 5 >= len(value) and changes * 6 >= len(value)


_CAPITALS, _SMALL = re.compile(rb"[A-Z]"), re.compile(rb"[a-z]")
_CHANGES = re.compile(rb"[a-z](?=[A-Z])|[A-Z]{2}(?=[a-z])")


def entropy(value: bytes) -> float:
    """Shannon entropy in bits per byte."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values())
