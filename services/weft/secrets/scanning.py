"""Finds every credential in a text: as it is, behind escapes, and behind hidden characters."""

from __future__ import annotations

import re
from bisect import bisect_right

from weft.bodies.masking import masked_text
from weft.prefilter import Prefilter, literals
from weft.secrets.assigned import NAMES
from weft.secrets.deployment_rules import NONE, DeploymentRules
from weft.secrets.escapes import Origins, unescaped
from weft.secrets.hidden_characters import spans_in_source
from weft.secrets.in_columns import NAMES as OF_COLUMNS
from weft.secrets.in_manifests import NAMES as OF_MANIFESTS
from weft.secrets.masking import Finding, masked, masks_of, without_overlaps
from weft.secrets.members import NAMES as OF_MEMBERS
from weft.secrets.personal import find_personal
from weft.secrets.private_keys import NAMES as OF_PRIVATE_KEYS
from weft.secrets.rule_matching import RULES, find_secrets

OF_RULES = (needle for rule in RULES for needle in rule.needles)
NEEDLES = (*OF_RULES, *NAMES, *OF_MEMBERS, *OF_COLUMNS, *OF_MANIFESTS, *OF_PRIVATE_KEYS)
"""A text without any of these contains no credential that weft's own rules know."""
_BEGINS = r"(?:^|[^a-z0-9]|\\u[0-9a-f]{4}|\\[bf])"
"""What stands before a word (`weft.secrets.rule.WORD_START`), in lower case."""
SIGNS = {
    **literals(NEEDLES),
    b"*": r"\*[0-9a-f]{40}",
    b".": r"[a-z0-9]\.[a-z0-9_-]{6}\.[a-z0-9_-]",
    b"aqaaaa": "aqaaaa[aei]a[a-z0-9+/]{4}aaaae",
    b"asia": "asia[a-z0-9]{16}",
    b"akc": "akc[a-z0-9]{20}",
    b"cio": "cio[a-z0-9]{20}",
    b"eaa": "eaa[a-z0-9]{20}",
    b"net": r"net\s+user",
    b"pin": rf"{_BEGINS}pin",
    b"pw": rf"{_BEGINS}pw",
    b"sk_": rf"{_BEGINS}sk_",
    b"pat": r"pat[a-z0-9]{14}\.",
    b"sk": "sk[0-9a-f]{20}",
}
"""Signs that a needle is present. A full stop is in nearly every text, and other short needles are
in many; what the rules of such a needle require before or behind it, its sign requires, too."""
_prefilter = Prefilter(SIGNS)


def secrets_in(data: bytes, own: DeploymentRules = NONE) -> list[Finding]:
    """Credentials in `data`, in order and without overlaps."""
    looked_at = spaced(data)
    present = _prefilter.present(looked_at.lower())
    if not present and own is NONE and b"\\" not in data:
        return []
    found = by_stages(data, unescaped(data), looked_at, present, own)
    return outside_marks(data, without_overlaps(found)) if found else found


def by_stages(
    data: bytes,
    plain: bytes | None,
    looked_at: bytes,
    present: frozenset[bytes],
    own: DeploymentRules,
) -> list[Finding]:
    """What the stages find, which may overlap: of two for the same bytes, the first stage's counts.
    `plain` is `unescaped(data)`, `looked_at` is `spaced(data)`, and `present` the needles in it."""
    found = find_secrets(looked_at, present, own.harmless) + own.find(data)
    return found + behind_escapes(data, plain, own)


_MARK = re.compile(rb"\[(?:secret|pii):[a-z]{1,20}(?:_[a-z0-9]{1,16}){0,5}:[0-9a-f]{8}\]")
"""A mask's mark, with a name as weft's rules have; no key looks like it."""


def outside_marks(data: bytes, found: list[Finding]) -> list[Finding]:
    """Without what lies inside a mark of an earlier scan, such as a summary's text has."""
    marks = [mark.span() for mark in _MARK.finditer(data)] if found else []
    if not marks:
        return found
    starts = [start for start, _ in marks]

    def is_inside(one: Finding) -> bool:
        at = bisect_right(starts, one.start) - 1
        return at >= 0 and one.end <= marks[at][1]

    return [one for one in found if not is_inside(one)]


def secrets_behind_hidden(data: bytes, own: DeploymentRules = NONE) -> list[Finding]:
    """Credentials in `data` as it is and as it reads without invisible characters, in order and
    without overlaps."""
    found = secrets_in(data, own)
    behind = spans_in_source(data, lambda plain: secrets_in(plain, own))
    return without_overlaps(found + behind) if behind else found


def personal_behind_hidden(data: bytes) -> list[Finding]:
    """Personal data in `data` as it is, behind its escapes, and as it reads without invisible
    characters, in order and without overlaps."""
    found = _personal_in(data)
    found += spans_in_source(data, _personal_in)
    return without_overlaps(found)


def _personal_in(data: bytes) -> list[Finding]:
    return find_personal(spaced(data)) + personal_behind_escapes(data, unescaped(data))


def personal_behind_escapes(data: bytes, plain: bytes | None) -> list[Finding]:
    """Personal data that only shows once the escapes of `data` are resolved; see
    `behind_escapes`."""
    return [] if plain is None else at_source(data, plain, find_personal(spaced(plain)))


def behind_escapes(data: bytes, plain: bytes | None, own: DeploymentRules) -> list[Finding]:
    """Credentials that only show once the escapes of `data` are resolved, as they are in `plain`;
    those that show in `data` as it is may be among them."""
    if plain is None:
        return []
    looked_at = spaced(plain)
    found = find_secrets(looked_at, _prefilter.present(looked_at.lower()), own.harmless)
    return at_source(data, plain, found + own.find(plain))


def at_source(data: bytes, plain: bytes, findings: list[Finding]) -> list[Finding]:
    """The findings in `plain`, the resolved text of `data`, at their places in `data`."""
    if not findings:
        return []
    origins = Origins(data)
    return [
        Finding(*origins.span(one.start, one.end), one.kind, one.name, plain[one.start : one.end])
        for one in findings
    ]


def spaced(data: bytes) -> bytes:
    """`data` with `\\n`, `\\t`, `\\r` and `\\"` of JSON as blanks and quotes, length unchanged, so
    that a word next to them has its boundary."""
    if b"\\" not in data:
        return data
    for escape, plain in ((rb"\n", b" \n"), (rb"\r", b" \r"), (rb"\t", b" \t"), (rb"\"", b' "')):
        data = data.replace(escape, plain)
    return data


def without_secrets(text: str, key: bytes, own: DeploymentRules = NONE) -> str:
    """`text` with credentials masked and nothing else searched for. `key` makes the fingerprints in
    the marks; without it the marks have none."""
    data = text.encode("utf-8", "replace")
    found = secrets_in(data, own)
    return masked(data, found, key).decode("utf-8", "replace") if found else text


def as_shown(text: str, own: DeploymentRules = NONE) -> str:
    """`text` with credentials masked, including those with hidden characters inside, and with
    personal data masked if `own` says so; every other character stays as it is. The same text and
    rules always give the same result."""
    if not text:
        return text
    data = text.encode("utf-8", "replace")
    found = secrets_behind_hidden(data, own)
    if own.is_personal_masked:
        persons = outside_marks(data, personal_behind_hidden(data))
        found = without_overlaps(found + persons) if persons else found
    return masked_text(text, masks_of(data, found, b"")) if found else text
