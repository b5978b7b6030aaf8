"""Catalogues in the log: the items of a small one are in its event, those of a large one in the
object store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from weft.log.connection import Connection
from weft.log.reading import read_own
from weft_schemas.errors import InvalidInput, NotFound
from weft_schemas.items import BodyRef
from weft_schemas.routing import Catalog, SelectableItem

Fetch = Callable[[str, BodyRef], Awaitable[bytes]]
"""A body of a tenant."""


async def newest_catalogue(
    connection: Connection, fetch: Fetch, tenant: str, name: str
) -> tuple[int, Catalog]:
    """The newest version's sequence and the catalogue with all its items. Raises `NotFound`."""
    found: tuple[int, Catalog] | None = None
    async for sequence, catalog in read_own(connection, tenant, Catalog):
        if catalog.name == name:
            found = (sequence, catalog)
    if found is None:
        raise NotFound(
            f"catalogue {name!r} is not in the log; publish it: weft catalog publish FILE "
            f"--name {name}"
        )
    return found[0], await whole(found[1], tenant, fetch)


async def whole(catalog: Catalog, tenant: str, fetch: Fetch) -> Catalog:
    """The catalogue with its items in it. Raises `NotFound`, `Corrupt` and `InvalidInput`."""
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
