"""One client for each credential, opened at its first request and then kept."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

from msgspec.structs import replace

from weft.client import Client
from weft.http.grants import TokenGrant
from weft.runtime.settings import Settings
from weft_schemas.errors import Forbidden

Credential = tuple[str, str, str, str, str, str]


class Clients:
    """`async with Clients(settings) as clients: client = await clients.of(grant)`"""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opened: dict[Credential, Client] = {}
        self._opening: defaultdict[Credential, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def of(self, grant: TokenGrant) -> Client:
        """The client with the grant's credential; without one, with this process's own. Raises
        `Unavailable` and `Forbidden`."""
        settings = replace(self._settings, tenant=grant.tenant, principal=grant.principal)
        if grant.user or grant.creds or grant.nats_token:
            settings = replace(
                settings,
                user=grant.user,
                password=grant.password,
                creds=Path(grant.creds) if grant.creds else None,
                token=grant.nats_token,
            )
        return await self._open(settings)

    async def of_log(self, grant: TokenGrant) -> Client:
        """A client that reads the log of the grant's tenant with this process's own credential.
        Raises `Forbidden` if the grant does not allow it."""
        if not grant.read_log:
            raise Forbidden(
                f"{grant.name} may not read the log; its entry in the tokens' file needs "
                "read_log = true"
            )
        return await self._open(replace(self._settings, tenant=grant.tenant))

    def are_up(self) -> bool:
        """Whether all open connections have reached their server."""
        return all(client.connection.is_up for client in self._opened.values())

    async def _open(self, settings: Settings) -> Client:
        key = (
            settings.tenant,
            settings.user or "",
            settings.password or "",
            str(settings.creds or ""),
            settings.token or "",
            settings.principal,
        )
        if key not in self._opened:
            async with self._opening[key]:
                if key not in self._opened:
                    client = Client(settings)
                    self._opened[key] = await self._stack.enter_async_context(client)
        return self._opened[key]
