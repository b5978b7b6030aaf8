"""An item as it may be shown: credentials masked in its text, in the arguments of its call and in
the rest of its metadata. A pure function of the item and the policy's rules, so that every replica
and every replay gives the same bytes."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from weft.secrets.own import Own, own_rules
from weft.secrets.scanning import as_shown
from weft_schemas.items import ContextItem, ReservedMetadata
from weft_schemas.policy import FirewallRules, is_masked

MASKED = "arguments_masked"
"""Metadata of a call of which something is masked: its arguments are not those that it was made
with."""
_NAMES = frozenset(ReservedMetadata.__struct_fields__) - {"arguments", "author"}
"""Metadata that other items, tools and memories are found by: names of weft's, no texts."""


def masked_item(item: ContextItem, rules: FirewallRules) -> ContextItem:
    """The item itself where nothing of it is a credential, or where the policy leaves its kind
    alone."""
    if not is_masked(rules, item.kind):
        return item
    own = own_rules(rules)
    text, metadata = as_shown(item.text, own), _metadata(item.metadata, own)
    if text == item.text and metadata is item.metadata:
        return item
    if isinstance(metadata.get("arguments"), dict):
        metadata = {**metadata, MASKED: True}
    return msgspec.structs.replace(item, text=text, metadata=metadata)


def _metadata(metadata: dict[str, Any], own: Own) -> dict[str, Any]:
    free = {key: value for key, value in metadata.items() if key not in _NAMES}
    if not free:
        return metadata
    written = json.dumps(free, ensure_ascii=False, separators=(",", ":"))
    shown = as_shown(written, own)
    if shown == written:
        return metadata
    return {**metadata, **_read(shown, free)}


def _read(shown: str, free: dict[str, Any]) -> dict[str, Any]:
    """Marks stand in quotes, so that JSON stays JSON. Where one spans several fields nothing of
    them is kept."""
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
