"""What the name next to a value says about it: that it is a password, a key, or something that a
later call needs, such as a cursor, which must never be hidden."""

from __future__ import annotations

import re

_PASSWORD = re.compile(
    rb"(?i)passw|passphrase|pwd|credential|pass(?:_?[0-9]{1,2})?\Z|(?:^|[_-])p/?w\Z"
)
_KEY = re.compile(
    rb"(?i)(?:api|access|secret|private|account|encryption|signing|shared)[ _-]?key|secret|token"
)
_KEY_LAST = re.compile(
    rb"(?i)(?:(?:api|access|secret|private|signing|encryption)[ _-]?key|secret|auth_?token)$"
)
_WEAK = re.compile(rb"(?i)(?:_pat|crumb|(?-i:[A-Z0-9]_KEY))\Z")
_PHRASE = re.compile(rb"(?i)(?:passphrase|password|passwd|pwd|pass|private_?key)\Z")
_HARMLESS_WORDS = """
page next prev previous cursor sync continuation resume max min num count total limit used usage
prompt completion input output type name path file url uri endpoint field label hint expires expiry
expiration ttl public policy author authors length budget cache arn id ids tokens tokenizer tokenize
authenticated authority passing passed passenger compass bypass reset strength required enabled
rotation manager store provider method mode level version ref reference
"""
_HARMLESS = frozenset(_HARMLESS_WORDS.encode().split())
"""Words that make a name harmless: the next call needs a cursor, a count or a limit is a number,
and a type or a path only says where a secret is."""
_HANDED_ON_WORDS = """
pagination paging continue starting start marker scroll offset bookmark checkpoint change lock
request idempotency lifecycle task work upload product creation
"""
_HANDED_ON = frozenset(_HANDED_ON_WORDS.encode().split())
"""Words that mark a token as one that later calls pass on, unless its name says that it opens
something."""
_OPENS = re.compile(rb"(?i)access|auth|secret|pass|bearer|api")
_FOUND_BY = re.compile(
    rb"(?i)(?:primary|foreign|partition|sort|row|object|storage|index|hash|range|site|publishable)_key\Z"
)
"""Keys by which a row or an object is found, or that are public."""
_WORDS = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_NAME = re.compile(rb"(?i)(?:\w{1,20}[ _-])?[\w.-]{0,40}(?:token|key|secret)[\w-]{0,20}")
NEAR = 100
"""How many bytes before a value are searched for its name."""


def names_password(name: bytes) -> bool:
    return _PASSWORD.search(name) is not None


def names_key(name: bytes) -> bool:
    """Whether a value with letters and digits next to it is a key, however short."""
    return _KEY.search(name) is not None


def ends_in_key(name: bytes) -> bool:
    """Whether the name means nothing else: then digits or letters alone are a key too."""
    return _KEY_LAST.search(name) is not None


def is_weak(name: bytes) -> bool:
    """Whether the name means something else as often: then only a value that can be nothing but a
    key counts."""
    return _WEAK.search(name) is not None and not names_key(name)


def names_phrase(name: bytes) -> bool:
    """Whether its value may be several words."""
    return _PHRASE.search(name) is not None


def is_harmless(name: bytes) -> bool:
    """Whether the value that it names is not a secret and may be needed."""
    words = {word.lower() for word in _WORDS.findall(name)}
    if not words.isdisjoint(_HARMLESS) or (_WEAK.search(name) and _FOUND_BY.search(name)):
        return True
    return b"token" in words and not words.isdisjoint(_HANDED_ON) and not _OPENS.search(name)


def name_before(before: bytes) -> bytes:
    """The last name of a token or a key in `before`; empty if there is none."""
    found = _NAME.findall(before)
    return found[-1] if found else b""
