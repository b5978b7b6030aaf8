"""Judges a value by the name next to it: whether it is a password, a key, or something that a later
call needs, such as a cursor, which must never be hidden."""

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
type name username path file url uri endpoint field label hint expires expiry expiration ttl policy
length budget cache arn id ids input output reset strength required enabled rotation manager store
provider method mode level version ref reference
at date time datetime timestamp age days last changed updated created modified rotated
encryption algorithm hasher hashers scheme iterations
"""
_HARMLESS = frozenset(_HARMLESS_WORDS.encode().split())
"""Words that make a name harmless behind the word that tells of a secret: a type or a path only
says where one is, a time when it was changed. A word before it names what the secret is for."""
_COUNTED_WORDS = """
max min num count total limit used usage prompt completion tokens tokenizer tokenize author authors
authored authenticated authority passing passed passenger compass bypass public
"""
_COUNTED = frozenset(_COUNTED_WORDS.encode().split())
"""Words that make a name harmless anywhere: of a count or a limit; other words that contain a
telling one; what everybody may see."""
_OF_DATA = _HARMLESS - frozenset(b"policy manager store provider endpoint level method".split())
"""Words that do so right before a token or a key of an application's data: a `file_token` says
which file. In a setting, in capitals, it opens one."""
_OF_AUTH = frozenset(b"domain user backend".split())
"""Words that do so behind `auth`."""
_TELLING = re.compile(
    rb"(?:passw(?:or)?ds?|passwd|pwd|passphrase|pass|pw|secrets?|token|keys?|credentials?|crumb"
    rb"|pat)\Z|\Aauth(?:entication)?\Z"
)
"""A word that tells of a secret."""
_SECRET_LAST = re.compile(
    rb"(?i)(?:passw(?:or)?d|passphrase|passwd|pwd|(?<!by)(?<!com)(?<!over)(?<!tres)pass|secret"
    rb"|(?:encryption|signing)[ _.-]?key)\Z"
)
"""Ends that make a name a credential's, whatever stands before."""
_CREDENTIAL = re.compile(
    rb"(?i)(?:access|auth|oauth|api|refresh|session|client|bearer|reset|id|user|admin|login|csrf|xsrf)"
    rb"[ _-]?(?:token|key|secret)\Z"
)
"""Ends that make a name a credential's whatever stands before, such as a page or a file, unless it
says that it is public."""
_PUBLIC = re.compile(rb"(?i)public|publishable")
_LISTING = frozenset(b"page next prev previous cursor sync continuation resume".split())
"""Words that mark a token or a key as one that says how far a listing has come."""
_PROGRESS_WORDS = """
pagination paging continue starting start marker scroll offset bookmark checkpoint change update
lock request idempotency lifecycle task work upload product creation
"""
_PROGRESS = _LISTING.union(_PROGRESS_WORDS.encode().split())
"""Words that mark a token as one that later calls pass on: how far a listing has come, which
request or which state of a record it is."""
_OFFER_WORDS = """
booking reservation hold offer quote rate fare itinerary flight departure property availability
cart basket slot seat price delta skip lease fencing dedup deduplication correlation
"""
_PLACE_WORDS = """
after before since more results iterator position sequence resumption partition concurrency
"""
_OFFERED = frozenset((_OFFER_WORDS + _PLACE_WORDS).encode().split())
"""Things that an application offers, holds or counts, and places in a listing or a stream, named by
a token or key that the next call has to copy. That holds only if the word stands right before
`token` or `key`: a `booking_partner_token` is a partner's. In a setting, in capitals, such a word
is the name of a service, which the token opens."""
_STEP_WORDS = """
confirmation confirm approval approve undo job poll polling operation transaction order ticket
receipt checkout
"""
_STEP = frozenset(_STEP_WORDS.encode().split())
"""Things and steps of the work with a tool, which a token right behind them names: the next call
has to copy it. Since such tokens are given out as keys as well, the value decides, too."""
_LETS_IN = re.compile(
    rb"(?i)otp|verif|device|invit|shar|reset|recover|unlock|override|challenge|sas|download|e-?mail"
)
"""Words of what lets somebody in or opens something; then a step's token does so, too."""
_ROW_WORDS = "primary foreign partition sort row object index range issue evaluated"
_ROW = frozenset(_ROW_WORDS.encode().split())
"""Words that mark a key as one by which a record is found."""
_HANDLE = _PROGRESS | _ROW | frozenset(b"token key".split())
"""All words of a setting, in capitals, that is a handle: another one is a name of what the token or
the key opens, as in `FB_PAGE_TOKEN` or `AZURE_STORAGE_PRIMARY_KEY`."""
_OPENS = re.compile(rb"(?i)access|auth|secret|pass|bearer|api")
"""A token or a key with such a word opens something: then it is a credential in any case."""
_ENTERS = re.compile(
    rb"(?i)session|refresh|user|admin|login|jwt|csrf|xsrf|private|personal|service|account|sign"
    rb"|encrypt|hmac|connection|webhook|bot"
)
"""Words for who or what is let in, which count less than the word right before the token or key:
`users_page_token` is of a page."""
_FOUND_BY = re.compile(
    rb"(?i)(?:primary|foreign|partition|sort|row|object|storage|index|hash|range)_key\Z"
)
"""Keys by which a row or an object is found."""
_SHOWN = re.compile(rb"(?i)(?:site|publishable)_key\Z")
"""Keys that every visitor of a site sees."""
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
    """Whether the value that it names is not a secret and may be needed. In doubt it is not."""
    if _SECRET_LAST.search(name) or (_CREDENTIAL.search(name) and not _PUBLIC.search(name)):
        return False
    words = _words_of(name)
    if _says_so(words) or (_WEAK.search(name) and _SHOWN.search(name)):
        return True
    if name.isupper() and not _HANDLE.issuperset(words):
        return False
    if words[-1:] in ([b"token"], [b"key"]) and not _OF_DATA.isdisjoint(words[-2:-1]):
        return True
    return bool(_WEAK.search(name) and _FOUND_BY.search(name)) or _is_handle(words, name)


def names_step(name: bytes) -> bool:
    """Whether it names a token of a thing or a step, which is harmless if it reads like a
    reference."""
    words = _words_of(name)
    if words[-1:] != [b"token"] or _STEP.isdisjoint(words[-2:-1]) or name.isupper():
        return False
    return not any(lets_in.search(name) for lets_in in (_OPENS, _ENTERS, _LETS_IN))


def _says_so(words: list[bytes]) -> bool:
    """Whether one of its words, where it stands, means that there is no secret."""
    if not _COUNTED.isdisjoint(words):
        return True
    tells = [at for at, word in enumerate(words) if _TELLING.search(word)]
    behind = words[tells[-1] + 1 :] if tells else words
    if not _HARMLESS.isdisjoint(behind):
        return True
    return bool(tells) and words[tells[-1]].startswith(b"auth") and not _OF_AUTH.isdisjoint(behind)


def _is_handle(words: list[bytes], name: bytes) -> bool:
    """Whether it names a token or a key of the application's data: a page, a request, an offer.
    The last of both counts: a `page_token_signing_key` is a key."""
    ends = [at for at, word in enumerate(words) if word in (b"token", b"key")]
    if not ends or _OPENS.search(name):
        return False
    is_token = words[ends[-1]] == b"token"
    beside = _PROGRESS if is_token else _LISTING | _ROW
    if not name.isupper():
        beside |= _PROGRESS | _OFFERED
    if not beside.isdisjoint(words[: ends[-1]][-1:]):
        return True
    anywhere = _PROGRESS if is_token else _LISTING
    return not anywhere.isdisjoint(words) and not _ENTERS.search(name)


def _words_of(name: bytes) -> list[bytes]:
    """Its words in lower case, in their order, with a `token` at the end of one apart."""
    return [part for word in _WORDS.findall(name) for part in _parted(word.lower())]


def _parted(word: bytes) -> list[bytes]:
    before = word.removesuffix(b"token")
    return [part for part in (before, word[len(before) :]) if part]


def name_before(before: bytes) -> bytes:
    """The last name of a token or a key in `before`; empty if there is none."""
    found = _NAME.findall(before)
    return found[-1] if found else b""
