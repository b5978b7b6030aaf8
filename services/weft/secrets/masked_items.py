"""An item as it may be shown: credentials, and personal data if the policy says so, are masked in
its text, in the arguments of its call and in the rest of its metadata. A pure function of the item
and the policy's rules, so that every replica and every replay gives the same bytes."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from weft.secrets.deployment_rules import DeploymentRules, deployment_rules
from weft.secrets.scanning import as_shown
from weft_schemas.items import ContextItem, ReservedMetadata
from weft_schemas.policy import FirewallRules, is_masked
from weft_schemas.reasoning import METADATA as REASONING
from weft_schemas.reasoning import Reasoning, clear_texts, reasoning_of

MASKED = "arguments_masked"
"""Metadata of a call in which something is masked: its arguments are not those of the actual
call."""
_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_NAMES = frozenset(ReservedMetadata.__struct_fields__) - {"arguments", "author"}
"""Metadata by which other items, tools and memories are found: weft's own names, no texts; and a
model's reasoning, which is kept unchanged or not at all."""
THOUGHT_OF = "a secret or personal data stands in it"
"""Why reasoning is withheld: its signature vouches for a text that may not be shown."""


def masked_item(item: ContextItem, rules: FirewallRules) -> ContextItem:
    """The item itself if nothing in it is to be masked, or if the policy leaves its kind alone."""
    if not is_masked(rules, item.kind):
        return item
    own = deployment_rules(rules)
    text = as_shown(item.text, own)
    metadata = item.metadata
    if REASONING in metadata:
        metadata = _without_secret_reasoning(metadata, own)
    if metadata:
        metadata = _metadata(metadata, own)
    if text == item.text and metadata is item.metadata:
        return item
    if isinstance(metadata.get("arguments"), dict):
        metadata = {**metadata, MASKED: True}
    return msgspec.structs.replace(item, text=text, metadata=metadata)


def _metadata(metadata: dict[str, Any], own: DeploymentRules) -> dict[str, Any]:
    free = {key: value for key, value in metadata.items() if key not in _NAMES}
    if not free:
        return metadata
    written = _compact(free)
    shown = as_shown(written, own)
    if shown == written:
        return metadata
    return {**metadata, **_read(shown, free)}


def _without_secret_reasoning(metadata: dict[str, Any], own: DeploymentRules) -> dict[str, Any]:
    reasoning = reasoning_of(metadata)
    if reasoning is None:  # something else under its name is dropped
        return {key: metadata[key] for key in metadata if key != REASONING}
    if all(as_shown(text, own) == text for text in clear_texts(reasoning)):
        return metadata
    withheld = Reasoning(reasoning.format, withheld=THOUGHT_OF)
    return {**metadata, REASONING: msgspec.to_builtins(withheld)}


def _read(shown: str, free: dict[str, Any]) -> dict[str, Any]:
    """Marks are put in quotes, so that JSON stays JSON. If one spans several fields, none of them
    is kept."""
    try:
        found = json.loads(shown)
    except ValueError:
        found = None
    if isinstance(found, dict) and found.keys() == free.keys():
        return found
    return {
        key: {"masked": True} if isinstance(value, dict) else "[secret]"
        for key, value in free.items()
    }
