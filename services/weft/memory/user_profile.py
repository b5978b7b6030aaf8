"""What a tool's result says about the user.

Only plain attributes of a profile count, and each value must have a strict form. Their keys begin
with the tool's name, so they never pass for the user's own words and never replace them.
"""

from __future__ import annotations

import re

from weft.facts.keys import key_from
from weft_schemas.envelope import ResultEnvelope, ResultStatus

_WORD = r"[^\W\d_][\w'-]{0,30}"
_ID = r"[\w.#-]{1,40}"
_FORMS = {
    "email": r"[\w.+-]{1,64}@[\w-]{1,63}(\.[\w-]{1,63}){1,4}",
    "timezone": r"[A-Za-z_]{2,20}(/[A-Za-z_]{2,20}){0,2}([+-]\d{1,2}(:\d\d)?)?",
    "locale": r"[a-z]{2,3}([-_][A-Za-z]{2,4})?",
    "language": _WORD,
    "currency": r"[A-Z]{3}",
    "country": rf"{_WORD}( {_WORD})?",
    "city": rf"{_WORD}( {_WORD})?",
    "zip": r"[A-Z\d][A-Z\d -]{2,9}",
    "user_id": _ID,
    "customer_id": _ID,
    "username": _ID,
    "first_name": _WORD,
    "last_name": _WORD,
    "membership": _WORD,
    "membership_level": _WORD,
    "tier": _WORD,
}
"""Attribute → pattern of its whole value. None has room for a sentence."""

_ALIASES = {"time_zone": "timezone", "email_address": "email", "user_name": "username"}
_OWNER = re.compile(r"(?:^|_)(?:user|profile|customer|account|me|owner|whoami)(?:$|_)")
_INDEXED = re.compile(r"\[\d*\*?\]|\*")


def facts_of_profile(tool: str, envelope: ResultEnvelope) -> list[tuple[str, str]]:
    """Pairs such as `get_user.email=mia@example.org`; none if a guard suspects the result."""
    suspect = any(signal.kind in ("injection", "secret") for signal in envelope.signals)
    if suspect or envelope.status is not ResultStatus.SUCCESS:
        return []
    found: dict[str, str] = {}
    for fact in envelope.facts:
        attribute = _attribute(tool, fact.name)
        if attribute and re.fullmatch(_FORMS[attribute], fact.value):
            found.setdefault(f"{key_from(_snake(tool))[:40]}.{attribute}", fact.value)
    return list(found.items())


def _attribute(tool: str, path: str) -> str:
    """The profile attribute at the end of a path, if the tool or the path says whose it is."""
    if _INDEXED.search(path):
        return ""  # an entry of a list may be anybody, not the user
    parts = [key_from(part) for part in path.strip("$.").split(".")]
    attribute = _ALIASES.get(parts[-1], parts[-1])
    owners = [key_from(_snake(tool)), *parts[:-1]]
    is_owned = any(_OWNER.search(part) for part in owners)
    return attribute if attribute in _FORMS and is_owned else ""


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
