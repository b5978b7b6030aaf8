"""What a value looks like: a key, a password, a passphrase, or only a placeholder, code or prose
where a credential could be."""

from __future__ import annotations

import base64
import math
import re
from collections import Counter

_PLACEHOLDER = re.compile(
    rb"(?i)\A(?:none|null|nil|true|false|undefined|required|optional|string|redacted|hidden|masked"
    rb"|password|passwd|pwd|pass|pw|secret|token|key|change[ _-]?me|todo|tbd|n/?a"
    rb"|(?:secret|api|access|private|auth|client|jwt)[ _-]?(?:key|token|secret)"
    rb"|your[\w -]*|(?:the|some|an?|insert|enter|put|add|replace)[ _-][\w -]*"
    rb"|my[ _-]?(?:super[ _-]?)?(?:secret|password|passwd|pass|token|key|api)[a-z_ -]*"
    rb"|<[^<>]*>|\$\{[^{}]*\}?|\{[^{}]*\}|\{\{[^{}]*\}\}"
    rb"|[$%]\([^()]*\)?s?|%[sdrv]|%[A-Z_0-9]+%|\$[A-Z_a-z]\w*"
    rb"|\[[^\[\]]*\]|\([^()]*\)|[<\[({][\w .:-]*|[#&]\{[^{}]*\}"
    rb"|__[A-Z_]+__|@[A-Z_]+@|@?:[a-z_]+|&lt;.*"
    rb"|[a-z ._-]*(?:placeholder|example|dummy)[a-z ._-]*|[*x.\x80-\xff#?_-]{3,})\Z"
)
"""A whole value that stands for another: `<your-key>`, `${NAME}`, `****`. A bracket may lack
its end before words alone: where the value is cut off."""
_BLANKED = re.compile(rb"(?i)xxxx|\*\*\*\*|\.\.\.")
_LONG = 64
"""In a value longer than this, such a run may occur by chance."""
_MADE_OF = re.compile(
    rb"(?i)\(\)|=>|\{[\w. -]*\}|(?-i:%s)(?!\w)|<%"
    rb"|#\{|\[\^?\w-\w|\\[dsw]"
)
"""What no credential contains: parts of templates, of patterns and of code."""
_ELSEWHERE = re.compile(
    rb"(?i)\A(?:https?:|file:|arn:|~?/[\w.-]+/|\./|(?:os|process|self|this|req|args|sys)\."
    rb"|(?:env|config|settings|get)(?![^\s(\[]*[0-9])"
    rb"|op://|ref\+\w{2,20}://|vault:[\w./-]+#|ssm:/|@microsoft\.keyvault\()"
)
"""Says where a credential is stored, and not its value: a file, an address, a place in a store of
secrets."""
_CODE = re.compile(
    rb"\A[A-Za-z_][\w.]*[(\[]|\A[a-z_]+(?:\.[a-z_]+)+\Z|::|\A[:+]|\A[A-Z][A-Za-z]{2,}<[\w<>|]+>\Z"
)
"""A call, an element, an attribute, a type: what a program does with a password."""
_QUOTED_CODE = re.compile(
    rb"\A[A-Za-z_][\w.]*[(\[].*[)\]];?\Z|\A[a-z_]+(?:\.[a-z_]+)+(?:(?<=[a-z]{2})\.[A-Z][A-Za-z0-9]+)?\Z|\A[A-Za-z_]+(?:::[A-Za-z_]+)+\Z"
    rb"|\A\+.*\+\Z|\A:[A-Za-z_.]*\Z"
)
"""The same in quotes, where a password may contain a bracket: only if it is code to its end."""
_BASE64_ALONE = re.compile(rb"\A[A-Za-z0-9+/]{20,}={1,2}\Z")
"""May begin like a path."""
_DOTTED = re.compile(rb"\A[A-Za-z_]{2,}(?:\.[A-Za-z_]\w*)+\Z")
_SAID_OF_PASSWORDS = """
required optional incorrect correct invalid valid wrong missing expired empty blank weak strong set
unset reset changed unchanged needed protected encrypted hashed stored saved updated given provided
entered accepted rejected denied failed disabled enabled hidden shown visible unknown null none
true false string text password passwd pwd token secret value username user email user input field
here below above follows following this that these those very also only always never used sent same
different longer shorter least most case-sensitive confirmation confirm length characters being
from your their with must should will been varchar nvarchar boolean integer number object bytes
binary nullable secretstr unused inherit manual automatic enable disable visible display password1
include exclude private public hashing cleartext plaintext plain length format pattern regex schema
title label passwort kennwort passord lösenord adgangskode kodeord salasana wachtwoord contraseña
clave senha parola hasło heslo jelszó şifre пароль 密码 密碼 パスワード 비밀번호 engangskode
"""
_SAID = frozenset(_SAID_OF_PASSWORDS.encode().split())
"""A statement about a password rather than its value."""
_PLAIN_WORDS = re.compile(rb"\A[A-Za-z\x80-\xff]+(?:[ _.-][A-Za-z\x80-\xff]+)*[.!?:]?\Z")
_LETTERS, _DIGITS = re.compile(rb"[A-Za-z]"), re.compile(rb"[0-9]")
_PLACE = re.compile(
    rb"(?i)[/\\.:]|\A[0-9]{4}-[0-9]{2}|\A[0-9]+(?:ms|s|m|h|d|k|mb|gb|px|%)?\Z"
    rb"|\Av[0-9]+(?:(?:alpha|beta|rc)[0-9]*)?\Z"
)
"""Paths, addresses, times, sizes and versions."""
_NAMED = re.compile(
    rb"(?i)pass|pwd|secret|token|key|user|name|login|auth|cred|default|value|env|config"
)
_KEY_LIKE = re.compile(rb"\A(?:base64:)?[A-Za-z0-9+/_-]{16,512}={0,2}\Z")
_SAID_IN_MESSAGES = """
password passwords passphrase secret token key login username user enter please your you must cannot
can invalid forgot forgotten reset change changed confirm new current old minimum characters again
repeat choose required incorrect wrong use used using type field set value for string text if or
when optional should show hide account email
"""
_MESSAGE = frozenset(_SAID_IN_MESSAGES.encode().split())
"""Words of labels, messages and descriptions, which also occur next to the name of a password."""


def is_placeholder(value: bytes) -> bool:
    """Whether a value only stands for a credential, or says where one is."""
    return (
        _PLACEHOLDER.search(value) is not None
        or (len(value) < _LONG and _BLANKED.search(value) is not None)
        or _MADE_OF.search(value) is not None
        or (_ELSEWHERE.search(value) is not None and _BASE64_ALONE.search(value) is None)
    )


def is_cut_placeholder(value: bytes) -> bool:
    """Whether a value without quotes, which ends before a bracket, is the beginning of one."""
    return _OPENED.search(value) is not None


_OPENED = re.compile(rb"\A(?:\[[^\[\]]*|\$?\{{1,2}[^{}]*)\Z")


def is_basic(value: bytes) -> bool:
    """Whether it is a user's name and a password in HTTP's encoding."""
    if _BASE64.search(value) is None:
        return False
    try:
        decoded = base64.b64decode(value + b"=" * (-len(value) % 4), validate=True)
    except ValueError:
        return False
    return _USER_AND_PASSWORD.search(decoded) is not None


_BASE64 = re.compile(rb"\A[A-Za-z0-9+/]{8,400}={0,2}\Z")
_USER_AND_PASSWORD = re.compile(rb"\A[!-9;-~]{2,100}:[!-~]{2,200}\Z")


def is_code(value: bytes) -> bool:
    """Whether a value is code, or the beginning of it."""
    return _CODE.search(value) is not None


def is_quoted_code(value: bytes) -> bool:
    """Whether a value in quotes is code as a whole."""
    return _QUOTED_CODE.search(value) is not None


def is_bare_code(value: bytes) -> bool:
    """Whether a value without quotes is code, the name of something or a type."""
    return is_code(value) or _DOTTED.search(value) is not None


def is_said(value: bytes) -> bool:
    """Whether it is a word that says what happens to a password."""
    return value.strip(b" .!?:)*_").lower() in _SAID


_WELL_KNOWN = frozenset(
    b"root toor admin guest demo test 0000 1111 1234 4321 12345 54321 abc123 qwerty".split()
)
"""The most used passwords that are too short to be told from other words."""


def is_well_known(value: bytes) -> bool:
    """Whether it is a password that everybody tries first."""
    return value.lower() in _WELL_KNOWN


def is_word_of_secrecy(value: bytes, quoted: bool) -> bool:
    """Whether a plain word next to a password's name can be a password: not a word for types,
    states or labels, and not the name of a variable that contains one."""
    return (
        len(value.strip(b" .!?:)*_")) >= (5 if quoted else 6)
        and not value.endswith(b":")
        and not is_said(value)
        and (quoted or (_NAMED.search(value) is None and b"_" not in value))
        and b" " not in value
    )


def is_passphrase(value: bytes) -> bool:
    """Whether several words can be a passphrase: neither a message about one nor a label."""
    words = value.split()
    if not 2 <= len(words) <= 12 or value.endswith((b".", b":", b"?", b"!")):
        return False
    if any(word.strip(b"'\",.:;()").lower() in _MESSAGE for word in words):
        return False
    return not value[:1].isupper() or _DIGITS.search(value) is not None


def looks_random(value: bytes) -> bool:
    """Whether a value reads like a key rather than a word: digits among letters, and at least 3
    bits of entropy per character (English words in identifiers have about 2.5 at this length)."""
    if len(value) < 12 or not (_DIGITS.search(value) or is_irregular(value)) or is_plain(value):
        return False
    if value.replace(b".", b"").replace(b"-", b"").replace(b":", b"").isdigit():
        return False
    if is_ledger_address(value):
        return False
    return entropy(value[:256]) >= 3.0


def is_ledger_address(value: bytes) -> bool:
    """Whether it is the address of an account or a contract of a blockchain, which everybody may
    know."""
    return _LEDGER_ADDRESS.search(value) is not None


_LEDGER_ADDRESS = re.compile(rb"\A0x[0-9a-fA-F]{40}\Z")


def is_key_like(value: bytes) -> bool:
    """Whether a value can be nothing but a key, an id or a digest: in one piece, with digits in
    many places."""
    if _KEY_LIKE.search(value) is None or not looks_random(value):
        return False
    return is_irregular(value) or len(_RUNS.findall(value)) * 5 >= len(value)


_RUNS = re.compile(rb"[0-9]+|[A-Za-z]+")


def is_reference(value: bytes) -> bool:
    """Whether it reads like the number of an order or a ticket, which somebody may say on the
    telephone: short groups of letters in one case, or of digits."""
    return len(value) <= _LONGEST_REFERENCE and _REFERENCE.search(value) is not None


_LONGEST_REFERENCE = 24
"""Characters; a UUID has 36."""
_REFERENCE = re.compile(
    rb"\A(?:(?:[A-Z]{1,10}|[A-Z]?[a-z]{1,10})[0-9]{0,10}|[0-9]{1,10})"
    rb"(?:[-_./:](?:[A-Z]{1,10}|[A-Z]?[a-z]{1,10}|[0-9]{1,10})){0,4}\Z"
)
"""Digits may follow the letters of the first group: `PO88121`. Of random letters and digits in
three groups of four, in one case, one in 30 looks so."""


def is_mixed(value: bytes) -> bool:
    """Whether it contains letters and digits."""
    return _LETTERS.search(value) is not None and _DIGITS.search(value) is not None


def is_place(value: bytes) -> bool:
    """Whether it is a path, an address, a time, a size or a version."""
    return _PLACE.search(value) is not None


def is_plain(value: bytes) -> bool:
    """Whether a value is words of letters alone, written like words."""
    return _PLAIN_WORDS.search(value) is not None and not is_irregular(value)


def is_irregular(value: bytes) -> bool:
    """Whether small and capital letters alternate as in no word and no name: at least a fifth of
    them are of the rarer case, and they meet more often than words begin."""
    if len(value) < 16 or b" " in value:
        return False
    capitals, small = len(_CAPITALS.findall(value)), len(_SMALL.findall(value))
    changes = len(_CHANGES.findall(value))
    return min(capitals, small) * 5 >= len(value) and changes * 5 >= len(value)


_CAPITALS, _SMALL = re.compile(rb"[A-Z]"), re.compile(rb"[a-z]")
_CHANGES = re.compile(rb"[a-z](?=[A-Z])|[A-Z]{2}(?=[a-z])")


def entropy(value: bytes) -> float:
    """Shannon entropy in bits per byte."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values())
