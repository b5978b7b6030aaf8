"""A server under the shipped permissions with two tenants, acme and rival, and signing in to it."""

import os
import re
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client

from tests.data import ROOT
from weft.log.connection import Connection
from weft.log.topology import provision
from weft.log.transport import connect
from weft.supervision.embedded_server import EmbeddedServer

PLATFORM = ("admin", "firewall", "worker", "replica")
TENANT_USERS = tuple(
    f"{tenant}-{role}"
    for tenant in ("acme", "rival")
    for role in ("agent", "assistant", "reader", "operator")
)
USERS = (*PLATFORM, *TENANT_USERS)


@asynccontextmanager
async def guarded_server(
    folder: Path, tenant: Callable[[str], str] = str
) -> AsyncIterator[EmbeddedServer]:
    """A server with the shipped permissions and a provisioned log; `tenant` changes acme's file."""
    with pytest.MonkeyPatch.context() as environment:
        install(folder, environment)
        file = folder / "tenants" / "acme.conf"
        file.write_text(tenant(file.read_text()))
        async with EmbeddedServer(folder, extra='include "permissions.conf"\n') as server:
            async with signed_in(server, "admin") as admin:
                await provision(admin)
            yield server


@asynccontextmanager
async def signed_in(server: EmbeddedServer, user: str) -> AsyncIterator[Connection]:
    """A connection of this user."""
    connection = await connect(server.url, user=user, password=password(user))
    try:
        yield connection
    finally:
        await connection.close()


class Probe:
    """A plain client that tells what the server refuses it."""

    def __init__(self, client: Client, refusals: list[str]) -> None:
        self._client = client
        self._refusals = refusals

    async def may_publish(self, subject: str) -> bool:
        # A body that no request of the API takes: an allowed one is refused by its handler.
        await self._client.publish(subject, b"\0", reply=self._client.new_inbox())
        return await self._is_allowed()

    async def may_subscribe(self, subject: str) -> bool:
        subscription = await self._client.subscribe(subject)
        allowed = await self._is_allowed()
        if allowed:
            await subscription.unsubscribe()
        return allowed

    async def _is_allowed(self) -> bool:
        await answered(self._client)
        refused = bool(self._refusals)
        self._refusals.clear()
        return not refused


@asynccontextmanager
async def probing(server: EmbeddedServer, user: str) -> AsyncIterator[Probe]:
    """A probe signed in as this user."""
    refusals: list[str] = []

    async def note(error: Exception) -> None:
        # Not all errors are refusals: an attempt to connect may have taken too long.
        if "permissions violation" in str(error).lower():
            refusals.append(str(error))

    client = await nats.connect(server.url, user=user, password=password(user), error_cb=note)
    try:
        yield Probe(client, refusals)
    finally:
        await client.close()


def password(user: str) -> str:
    name = user.upper().replace("-", "_")
    return os.environ[f"WEFT_{name}_PASSWORD" if user in PLATFORM else f"{name}_PASSWORD"]


async def answered(connection: Client) -> None:
    """Wait until the server has refused whatever it refuses of what was sent."""
    # nats-py can send the first PING ahead of what waits to be written, so that takes two.
    await connection.flush()
    await connection.flush()


def install(folder: Path, environment: pytest.MonkeyPatch) -> None:
    """The shipped files, and a second tenant made as their comment says."""
    shutil.copytree(ROOT / "deploy" / "nats", folder, dirs_exist_ok=True)
    acme = (folder / "tenants" / "acme.conf").read_text()
    rival = acme.replace("acme", "rival").replace("ACME", "RIVAL")
    (folder / "tenants" / "rival.conf").write_text(rival)
    file = folder / "permissions.conf"
    line = '  include "tenants/acme.conf"\n'
    file.write_text(file.read_text().replace(line, line + '  include "tenants/rival.conf"\n'))
    for path in folder.rglob("*.conf"):
        for name in re.findall(r": \$(\w+)", path.read_text()):
            environment.setenv(name, "p-" + name.lower())
