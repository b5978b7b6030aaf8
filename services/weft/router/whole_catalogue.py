"""Catalogues in the log: the items of a small one are in its event, those of a large one in the
object store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from weft_schemas.errors import InvalidInput
from weft_schemas.items import BodyRef
from weft_schemas.routing import Catalog, SelectableItem

Fetch = Callable[[str, BodyRef], Awaitable[bytes]]
"""Fetches a body of a tenant."""


async def whole(catalog: Catalog, tenant: str, fetch: Fetch) -> Catalog:
    """The catalogue including its items. Raises `NotFound`, `Corrupt` and `InvalidInput`."""
    if not isinstance(catalog.body, BodyRef):
        return catalog
    try:
        body = await fetch(tenant, catalog.body)
        items = msgspec.json.decode(body, type=tuple[SelectableItem, ...])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(
            f"catalogue {catalog.name!r}: body {catalog.body.sha256}: {error}; publish it again"
        ) from None
    return Catalog(catalog.name, items)
