"""Two forms of a JSON reply that say that a call had no effect: a list of errors beside nothing
that was made, as GraphQL's mutations return, and a verdict with its code and what it means."""

from __future__ import annotations

import re

from weft.firewall.text_status import normalised_key
from weft.firewall.verdict_words import VERDICTS

MAX_DEPTH = 3
"""Objects around such a reply that hold nothing else: `{"data": {"refundCreate": {…}}}`."""
MAX_BESIDE = 4
"""Most fields beside a verdict; a record of something has more."""
_EMPTY: tuple[object, ...] = (None, "", [], {}, 0)
_OF_GRAPHQL = frozenset(("typename", "clientmutationid", "extensions"))
_SAYING = ("message", "code", "reason", "error", "detail")
"""Fields of an error in a list, of which it has one at least."""
_CODE = re.compile(r"(?=.*[\d_-])[A-Z][A-Z\d_.-]{1,40}")
"""The code of an error: `RK-409`, `SLOT_TAKEN`."""


def is_refused_reply(value: object) -> bool:
    """Whether a decoded reply has one of these forms."""
    for _ in range(MAX_DEPTH):
        if not isinstance(value, dict):
            return False
        if _lists_only_errors(value):
            return True
        held = [one for key, one in value.items() if normalised_key(key) not in _OF_GRAPHQL]
        if len(held) != 1 or not isinstance(held[0], dict):
            break
        value = held[0]
    return isinstance(value, dict) and _begins_with_verdict(value)


def _lists_only_errors(value: dict[str, object]) -> bool:
    """Whether a field such as `userErrors` lists errors, and what was to be made is empty."""
    listed = made_nothing = False
    for key, held in value.items():
        bare = normalised_key(key)
        if bare.endswith("errors") and isinstance(held, list) and held:
            if not all(isinstance(one, dict) and _says_why(one) for one in held):
                return False
            listed = True
        elif bare not in _OF_GRAPHQL:
            if held not in _EMPTY:
                return False
            made_nothing = True
    return listed and made_nothing


def _says_why(error: dict[str, object]) -> bool:
    return any(isinstance(error.get(key), str) and error[key] for key in _SAYING)


def _begins_with_verdict(value: dict[str, object]) -> bool:
    """Whether the first field of a small object says that something failed, and others give its
    code and what it means. What was looked up, and was rejected, has no code of an error."""
    if not 2 < len(value) <= 1 + MAX_BESIDE or any(map(names_a_thing, value)):
        return False
    first, *others = value.values()
    if not isinstance(first, str) or first.lower() not in VERDICTS:
        return False
    told = [one for one in others if isinstance(one, str)]
    has_code = any(_CODE.fullmatch(one) for one in told)
    return has_code and any(map(_is_sentence, told))


def _is_sentence(text: str) -> bool:
    """Whether a string has several words, or is long in a language without blanks."""
    return text.count(" ") > 1 or (not text.isascii() and len(text) > _LONG)


_LONG = 8
"""Characters."""


def names_a_thing(key: str) -> bool:
    """Whether a field says which thing a record is about; a call's own ids name no thing."""
    bare = normalised_key(key)
    return bare == "name" or (_ID.search(key) is not None and bare not in _OF_THE_CALL)


_ID = re.compile(r"(?:^|[_.-])(?:id|ID|Id)$|[a-z](?:Id|ID)$")
_OF_THE_CALL = frozenset(("requestid", "traceid", "correlationid", "spanid", "callid"))
