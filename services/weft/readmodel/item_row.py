"""Makes an `ItemRow` of the columns in which the read model stores an item and its envelope."""

from __future__ import annotations

from typing import Any

import msgspec

from weft.readmodel.rows import ItemRow
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.items import LEVELS, ItemKind, Sensitivity

KINDS = {kind.value: kind for kind in ItemKind}
_levels = {level.value: level for level in Sensitivity}
_metadata = msgspec.json.Decoder(dict[str, Any])
_envelope = msgspec.json.Decoder(ResultEnvelope)


def item_row(row: tuple[Any, ...]) -> ItemRow:
    """An `ItemRow` from the columns of the query `item`."""
    (
        sequence, ordinal, id, kind, text, tokens, outline, parent_id, sensitivity, metadata,
        published_ns, untrusted, envelope_version, envelope_tokens, envelope_body,
        summary_version, summary_tokens, summary, waits,
        body_tokens, body_size, body_outline, body, raised,
    ) = row  # fmt: skip
    version, level, envelope = sequence, _levels[sensitivity], None
    if raised is not None:
        level = level.raised_to(LEVELS[raised])
    known = _metadata.decode(metadata) if metadata else {}
    if envelope_version is not None:
        envelope = _envelope.decode(envelope_body)
        version, text, tokens = envelope_version, envelope.summary, envelope_tokens
        outline = body_outline or b""
        level = level.raised_to(envelope.sensitivity)
    return ItemRow(
        sequence=sequence,
        ordinal=ordinal,
        id=id,
        kind=KINDS[kind],
        text=text,
        tokens=tokens,
        version=version,
        parent_id=parent_id,
        sensitivity=level,
        metadata=known,
        published_ns=published_ns,
        outline=outline,
        pending=bool(waits),
        parked=bool(untrusted and envelope is None and not waits),
        envelope=envelope,
        summary=summary or "",
        summary_tokens=summary_tokens or 0,
        summary_version=summary_version or 0,
        packed=body or b"",
        packed_tokens=body_tokens or 0,
        packed_size=body_size or 0,
    )
