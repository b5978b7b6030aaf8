"""How a client reads a catalogue: from the log, without asking a router."""

from __future__ import annotations

from weft.log.connection import Connection
from weft.log.reading import read_own
from weft.router.whole_catalogue import Fetch, whole
from weft_schemas.errors import NotFound
from weft_schemas.routing import Catalog


async def newest_catalogue(
    connection: Connection, fetch: Fetch, tenant: str, name: str
) -> tuple[int, Catalog]:
    """The sequence of the newest version, and the catalogue with all its items. Raises `NotFound`
    and whatever `whole` raises."""
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
