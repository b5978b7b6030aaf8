"""Texts that say first of all that nothing came of a call: a verdict before its reason, a negation
in capitals, or a number of errors."""

from __future__ import annotations

import re
from itertools import islice

from weft.firewall.verdict_words import REFUSALS

_MAX_REFUSAL = 800
"""Characters of a text that only says why something was refused."""
_MIN_PLAIN_WORDS = 2
"""Words in lower case of a reason; a list of names has none."""
_LONG = 8
"""Characters of a reason in a script without capitals."""
_VERDICT = re.compile(
    rf"\W{{0,6}}(?:[a-z]\w{{0,15}}: +)?(?:{'|'.join(sorted(REFUSALS, key=len, reverse=True))})"
    r"(?:\s?[:\uff1a]|[ \t][^:\uff1a\n]{1,60}[:\uff1a])(?!//)",
    re.IGNORECASE,
)
"""A verdict, who gave it, and a colon: `remote: rejected by pre-receive hook:`."""
_FIELD = re.compile(r"([^\W\d_][\w -]{0,24})[:\uff1a](?:\s|$)")
"""A line that is a field of a record: `accepted: 12`."""
_WHY = frozenset(("code", "detail", "details", "error", "hint", "message", "note", "reason"))
"""Names of fields that say more of a refusal."""


def begins_with_refusal(text: str) -> bool:
    """Whether a short text begins with a verdict and then says why, and is no record of something
    that was refused."""
    found = _VERDICT.match(text) if len(text) <= _MAX_REFUSAL else None
    if found is None or not _is_reason(text[found.end() :]):
        return False
    fields = map(_FIELD.match, islice(text.splitlines(), 1, None))
    return all(field is None or field[1].lower() in _WHY for field in fields)


def _is_reason(text: str) -> bool:
    if text.lower() == text.upper():
        return len(text.strip()) > _LONG
    return sum(word[0].islower() for word in text.split()) >= _MIN_PLAIN_WORDS


_NOT_DONE = re.compile(
    r"\b(?:was|were|been|could) NOT (?=[a-z])"
    r"|\b(?:wurden?|konnten?) (?:[^\W\d_]+ ){0,3}NICHT (?=[a-z])"
    r"|\b(?:werd|werden|zijn|kon|konden) (?:[^\W\d_]+ ){0,3}NIET (?=[a-z])"
    r"|\bn['\u2019](?:a|ont) PAS (?=[a-z\xe9])"
    r"|\b(?:har|blev|ble) (?:INTE|IKKE) (?=[a-z])"
    r"|\bNO (?:se ha|se han|se pudo|fue|fueron) (?=[a-z])"
    r"|\bN\xc3O (?:foi|foram) (?=[a-z])"
    r"|\bNON (?:\xe8|sono) stat[aoie] (?=[a-z])"
    r"|\bNIE (?:zosta\u0142[aoy]?|zostali|uda\u0142o) (?=[a-z])"
    r"|\b\u041d\u0415 (?:\u0431\u044b\u043b[\u0430\u043e\u0438]?"
    r"|\u0443\u0434\u0430\u043b\u043e\u0441\u044c) (?=[\u0430-\u044f])"
)
"""Something that did not come about, with the negation in capitals."""
_ERRORS = re.compile(r"\berror\(s\)", re.IGNORECASE)
"""Errors as programs count them: `3 error(s)`, `new syntax error(s)`."""
_NO_ERRORS = re.compile(
    r"\b(?:0|zero|no|any|without)(?: [^\W\d_]{1,20}){0,2} error\(s\)", re.IGNORECASE
)
_LISTED = re.compile(r"^ERRORS:\s{1,8}[-*\u2022] (?!0\b|none\b|no\b)\S", re.MULTILINE)
_LINE = 200
"""Characters of a first line that tells how a call went."""
_OPENING = 1_000
"""Characters in which errors are listed."""


def says_not_done(text: str) -> bool:
    """Whether the first line says that something was NOT done or tells of error(s), or a list of
    ERRORS stands near the beginning."""
    line = text[:_LINE].lstrip().partition("\n")[0]
    if _NOT_DONE.search(line) is not None or _ERRORS.search(_NO_ERRORS.sub("", line)) is not None:
        return True
    return _LISTED.search(text[:_OPENING]) is not None
