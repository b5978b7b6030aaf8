"""All guards over one text, and the text with what they found masked."""

from __future__ import annotations

from collections import Counter

import msgspec

from weft.bodies.masking import masked_text
from weft.firewall.escapes import Origins, unescaped
from weft.firewall.finding import Finding, fingerprint, masked, masks_of, without_overlaps
from weft.firewall.injection import NEEDLES, find_injections, plain_letters
from weft.firewall.personal import find_personal
from weft.firewall.prefilter import Prefilter, literals
from weft.firewall.secrets import NAMES, RULES, find_secrets
from weft_schemas.envelope import Mask, Signal
from weft_schemas.items import Sensitivity
from weft_schemas.policy import FirewallRules, PiiAction

_FINGERPRINTS = 8
"""Fingerprints of one rule that a signal lists."""


class Scanned(msgspec.Struct, frozen=True):
    text: str
    """With secrets masked, and personal data where the policy says so."""
    masks: tuple[Mask, ...]
    """What was masked, in characters of the text as it was."""
    signals: tuple[Signal, ...]
    sensitivity: Sensitivity
    """Public, or what the findings raise to."""


_prefilter = Prefilter(literals([*(n for rule in RULES for n in rule.needles), *NAMES, *NEEDLES]))


def scan(text: str, rules: FirewallRules, key: bytes, limit: int) -> Scanned:
    """Run every guard. `limit` bounds the findings per rule. Linear in `text`."""
    data = text.encode()
    looked_at = _spaced(data)
    lowered = looked_at.lower() if data.isascii() else plain_letters(text.lower().encode())
    present = _prefilter.present(lowered)
    secrets = find_secrets(looked_at, present, limit)
    persons = find_personal(looked_at, limit)
    hidden_secrets, hidden_persons = _behind_escapes(data, limit, rules.pii is not PiiAction.FLAG)
    secrets = without_overlaps(secrets + hidden_secrets)
    persons = without_overlaps(persons + hidden_persons)
    signals = _secret_signals(data, secrets, key) + _person_signals(persons)
    hidden = secrets
    if rules.pii is PiiAction.MASK and persons:
        hidden = without_overlaps(secrets + persons)
    masks = masks_of(data, hidden, key)
    raises = rules.pii is PiiAction.RAISE and bool(persons)
    return Scanned(
        masked_text(text, masks),
        masks,
        signals + find_injections(lowered, present, limit),
        rules.pii_sensitivity if raises else Sensitivity.PUBLIC,
    )


def without_secrets(text: str, key: bytes, limit: int) -> str:
    """`text` with credentials masked, and nothing else looked for."""
    data = text.encode("utf-8", "replace")
    found = secrets_in(data, limit)
    return masked(data, found, key).decode("utf-8", "replace") if found else text


def secrets_in(data: bytes, limit: int) -> list[Finding]:
    """Credentials in `data`, in order and without overlaps."""
    looked_at = _spaced(data)
    present = _prefilter.present(looked_at.lower())
    found = find_secrets(looked_at, present, limit)
    return without_overlaps(found + _behind_escapes(data, limit, False)[0])


def _behind_escapes(
    data: bytes, limit: int, with_persons: bool
) -> tuple[list[Finding], list[Finding]]:
    """Credentials, and personal data where it is asked for, that only show once the escapes of
    `data` are resolved; what shows as it is may be among them."""
    plain = unescaped(data)
    if plain is None:
        return [], []
    looked_at = _spaced(plain)
    secrets = find_secrets(looked_at, _prefilter.present(looked_at.lower()), limit)
    persons = find_personal(looked_at, limit) if with_persons else []
    if not secrets and not persons:
        return [], []
    origins = Origins(data)

    def at_source(found: Finding) -> Finding:
        start, end = origins.span(found.start, found.end)
        return Finding(start, end, found.kind, found.name, plain[found.start : found.end])

    return [at_source(found) for found in secrets], [at_source(found) for found in persons]


def _spaced(data: bytes) -> bytes:
    """`data` with `\\n`, `\\t`, `\\r` and `\\"` of JSON as blanks and quotes, length unchanged, so
    that a word beside them has its boundary."""
    if b"\\" not in data:
        return data
    for escape, plain in ((rb"\n", b" \n"), (rb"\r", b" \r"), (rb"\t", b" \t"), (rb"\"", b' "')):
        data = data.replace(escape, plain)
    return data


def _secret_signals(data: bytes, findings: list[Finding], key: bytes) -> tuple[Signal, ...]:
    if not findings:
        return ()
    by_name: dict[str, dict[str, None]] = {}
    counts = Counter(found.name for found in findings)
    for found in findings:
        prints = by_name.setdefault(found.name, {})
        if len(prints) < _FINGERPRINTS:
            prints[fingerprint(key, found.value or data[found.start : found.end])] = None
    return tuple(
        Signal("secret", name, counts[name], " ".join(prints)) for name, prints in by_name.items()
    )


def _person_signals(findings: list[Finding]) -> tuple[Signal, ...]:
    if not findings:
        return ()
    counts = Counter(found.name for found in findings)
    return tuple(Signal("pii", name, count) for name, count in sorted(counts.items()))
