"""weft's own format: ContextItems as JSON lines or a JSON array, as in the log."""

from __future__ import annotations

from weft.adapters.drafting import Reading, checked
from weft.adapters.records import TranscriptSource
from weft_schemas.items import ContextItem


def read(source: TranscriptSource) -> Reading:
    """The items unchanged. Raises `InvalidInput` with file, line and field."""
    return Reading(tuple(checked(record, record.to(ContextItem)) for record in source.records))
