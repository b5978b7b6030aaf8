"""Runs all guards over one text and masks what they find."""

from __future__ import annotations

from collections import Counter

import msgspec

from weft.bodies.masking import masked_text
from weft.prefilter import Prefilter, literals
from weft.prompt_injection.detection import NEEDLES, find_injections, plain_letters
from weft.secrets.deployment_rules import deployment_rules
from weft.secrets.escapes import unescaped
from weft.secrets.hidden_characters import spans_in_source
from weft.secrets.masking import Finding, fingerprint, masks_of, without_overlaps
from weft.secrets.personal import find_personal
from weft.secrets.scanning import (
    SIGNS,
    by_stages,
    outside_marks,
    personal_behind_escapes,
    secrets_in,
    spaced,
)
from weft_schemas.envelope import Mask, Signal
from weft_schemas.items import Sensitivity
from weft_schemas.policy import FirewallRules, PiiAction

_FINGERPRINTS = 8
"""How many fingerprints of one rule a signal lists."""


class Scanned(msgspec.Struct, frozen=True):
    text: str
    """The text with secrets masked, and personal data too if the policy says so."""
    masks: tuple[Mask, ...]
    """The masked spans, in characters of the original text."""
    signals: tuple[Signal, ...]
    sensitivity: Sensitivity
    """Public, or the level to which the findings raise it."""


_prefilter = Prefilter({**literals(NEEDLES), **SIGNS})


def scan(text: str, rules: FirewallRules, key: bytes, limit: int, raw: bytes = b"") -> Scanned:
    """Run every guard. `limit` bounds what is only counted: personal data that stays, injected
    instructions. Whatever is masked, or raises the sensitivity, is found however often it occurs.
    `raw` is the text before it was cleaned to `text`: only it still has the erased characters.
    Linear in the length of `text`."""
    data = text.encode()
    looked_at = spaced(data)
    lowered = looked_at.lower() if data.isascii() else plain_letters(text.lower().encode())
    present = _prefilter.present(lowered)
    own = deployment_rules(rules)
    plain = unescaped(data)
    secrets = by_stages(data, plain, looked_at, present, own)
    if rules.pii is PiiAction.FLAG:
        persons = find_personal(looked_at, limit)
    else:
        persons = find_personal(looked_at) + personal_behind_escapes(data, plain)
    secrets += spans_in_source(data, lambda seen: secrets_in(seen, own), raw)
    secrets = outside_marks(data, without_overlaps(secrets))
    persons = outside_marks(data, without_overlaps(persons))
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
