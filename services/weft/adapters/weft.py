"""weft's own format: ContextItems as JSON lines or a JSON array, as the log holds them."""

from __future__ import annotations

from weft.adapters.drafting import checked
from weft.adapters.records import Source
from weft_schemas.items import ContextItem


def items(source: Source) -> list[ContextItem]:
    """The items as they stand. Raises `InvalidInput` with file, line and field."""
    return [checked(record, record.to(ContextItem)) for record in source.records]
