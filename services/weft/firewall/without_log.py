"""Sends one text through the firewall without a log, to show what the firewall makes of a tool's
result."""

from __future__ import annotations

from typing import Any

from weft import tokens
from weft.firewall.derive import envelope_for
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.events import Origin
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import FirewallRules


def firewall_result(
    text: str | bytes,
    *,
    tool_name: str | None = None,
    content_type: str | None = None,
    is_error: bool | None = None,
    sensitivity: Sensitivity = Sensitivity.PUBLIC,
    rules: FirewallRules | None = None,
    encoding: str = tokens.DEFAULT_ENCODING,
    key: bytes = b"",
) -> ResultEnvelope:
    """The envelope that represents a tool's result in prompts: its summary, or the whole text if it
    is short, with secrets masked; its facts, its status, and the guards' findings.

    The same text gives the same envelope. Nothing is published or stored, so its handle leads
    nowhere. `rules` are those of a policy, and `key` is the deployment's secret for fingerprints.
    Needs the extra `workers`.
    """
    said: dict[str, Any] = {
        "tool_name": tool_name,
        "content_type": content_type,
        "is_error": is_error,
    }
    metadata = {name: value for name, value in said.items() if value is not None}
    item = ContextItem("result", ItemKind.TOOL_RESULT, sensitivity=sensitivity, metadata=metadata)
    made = envelope_for(
        item,
        text,
        origin=Origin(0),
        rules=rules or FirewallRules(),
        fingerprint_key=key,
        encoding=encoding,
        tenant="",
        session="",
    )
    return made.envelope
