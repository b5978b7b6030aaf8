"""Whether the services behind a client answer already, as those that start a deployment ask."""

from __future__ import annotations

from weft.client.client import Client
from weft_schemas.errors import Unavailable


async def answers(client: Client) -> bool:
    """Whether a replica answers. Asked again until it does; other errors are raised."""
    try:
        await client.status()
    except Unavailable:
        return False
    return True
