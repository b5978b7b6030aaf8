"""Envelopes for tests: a body in, its envelope out, everything else as it is by default."""

from __future__ import annotations

import json
from typing import Any

from weft.firewall.body import Body
from weft.firewall.bounds import Bounds
from weft.firewall.derive import envelope_for
from weft.tokens import DEFAULT_ENCODING
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.events import EnvelopeEvent, Origin, decode_event, encode_event
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import FirewallRules

KEY = b"a key of this deployment"
RULES = FirewallRules(threshold=500)
"""So that a text of a page is summarised."""


def envelope(
    body: Body,
    rules: FirewallRules | None = None,
    limits: Bounds | None = None,
    encoding: str = DEFAULT_ENCODING,
    **metadata: Any,
) -> ResultEnvelope:
    """The envelope of a tool result, written to the log's bytes and read back."""
    item = ContextItem("item-1", ItemKind.TOOL_RESULT, metadata=metadata)
    event = envelope_for(
        item,
        body,
        origin=Origin(7, "item-1", "firewall", "1"),
        rules=rules or RULES,
        fingerprint_key=KEY,
        encoding=encoding,
        tenant="acme",
        session="s1",
        limits=limits or Bounds(),
    )
    decoded = decode_event(encode_event(event))
    assert isinstance(decoded, EnvelopeEvent)
    return decoded.envelope


def enveloped(item: ContextItem, body: Body, sequence: int = 1) -> EnvelopeEvent:
    """The event that the firewall makes of the item at this sequence of session `s` of tenant `t`,
    by the default rules."""
    return envelope_for(
        item,
        body,
        origin=Origin(sequence, item.id, "firewall", "1"),
        rules=FirewallRules(),
        fingerprint_key=b"",
        encoding=DEFAULT_ENCODING,
        tenant="t",
        session="s",
    )


def signals(found: ResultEnvelope, kind: str) -> set[str]:
    """Names of the signals of a kind."""
    return {signal.name for signal in found.signals if signal.kind == kind}


def facts(found: ResultEnvelope) -> dict[str, str]:
    """Names and values of the facts."""
    return {fact.name: fact.value for fact in found.facts}


def invoices(count: int) -> str:
    """A JSON page of invoices."""
    rows = [
        {
            "id": f"inv_{number:04d}",
            "number": f"INV-{1000 + number}",
            "customer": {"name": "Acme", "country": "DE"},
            "amount": 100 + number,
            "status": "open",
            "note": "Thank you for your business, see you soon again in our shop. " * 3,
        }
        for number in range(count)
    ]
    return json.dumps({"invoices": rows, "next_page_token": "c2VjcmV0LW5vdC1hdC1hbGw0Mg"})
