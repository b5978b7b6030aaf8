"""Proves that a text is a slice from a drill-down, so that the firewall passes it whole, by an HMAC
of handle, sensitivity and text. It is checked without a lookup."""

from __future__ import annotations

import hashlib
import hmac

from weft_schemas.ids import digest
from weft_schemas.items import ContextItem, Sensitivity


def slice_hmac(key: bytes, tenant: str, handle: str, level: Sensitivity, text: str) -> str:
    """32 hex digits, which only the owner of the deployment's `key` can compute."""
    signed = digest("slice", tenant, handle, level.value, text)
    return hmac.new(key, signed.encode(), hashlib.sha256).hexdigest()[:32]


def proved_level(key: bytes, tenant: str, item: ContextItem) -> Sensitivity | None:
    """The sensitivity of the source, if `item` is provably an unchanged slice of it; otherwise
    None."""
    reserved = item.reserved
    handle, seal = reserved.slice_of, reserved.slice_seal
    if not handle or not seal:
        return None
    for level in Sensitivity:
        expected = slice_hmac(key, tenant, handle, level, item.text)
        if hmac.compare_digest(expected.encode(), seal.encode("utf-8", "surrogatepass")):
            return level
    return None
