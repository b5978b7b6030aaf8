"""What all commands that talk to the log share: connection options, and the client."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from weft.runtime.settings import Settings, read_settings

if TYPE_CHECKING:
    from weft.client import Client
    from weft.log.connection import Connection

T = TypeVar("T")
SILENT_SECONDS = 2.0
"""After this time a command shows that it is working."""

_OPTIONS = (
    ("--nats", "nats_url", "URL", "Server addresses, separated by commas.  [WEFT_NATS_URL]"),
    ("--tenant", "tenant", "NAME", "Whose log.  [WEFT_TENANT, else `default`]"),
    (
        "--principal",
        "principal",
        "NAME",
        "Who asks, of the tenant.  [WEFT_PRINCIPAL]",
    ),
    ("--creds", "creds", "FILE", "NATS credentials; needs nats-py[nkeys].  [WEFT_CREDS]"),
    ("--user", "user", "NAME", "[WEFT_USER]"),
    ("--password", "password", "TEXT", "[WEFT_PASSWORD, which no process list shows]"),
    ("--token", "token", "TEXT", "[WEFT_TOKEN]"),
    ("--tls-ca", "tls_ca", "FILE", "Authority to trust; insists on TLS.  [WEFT_TLS_CA]"),
    ("--tls-cert", "tls_cert", "FILE", "Client certificate.  [WEFT_TLS_CERT]"),
    ("--tls-key", "tls_key", "FILE", "Its key.  [WEFT_TLS_KEY]"),
)


def connected(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the connection options; it receives their values as `settings`."""

    @functools.wraps(command)
    def with_settings(**values: Any) -> Any:
        overrides = {name: values.pop(name) for _, name, _, _ in _OPTIONS}
        return command(settings=read_settings(**overrides), **values)

    for flag, name, kind, text in reversed(_OPTIONS):
        with_settings = click.option(flag, name, metavar=kind, help=text)(with_settings)
    return with_settings


def named_server() -> str | None:
    """The address that --nats or WEFT_NATS_URL gives to this command, if one does. The option is
    asked, not the settings: the default address counts as named if it is given."""
    option = click.get_current_context().params["nats_url"]
    return option or os.environ.get("WEFT_NATS_URL") or None


json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")

session_option = click.option("--session", "-s", required=True, metavar="ID", help="The session.")


def running(work: Coroutine[Any, Any, T], *, talks: bool = False) -> T:
    """Run a command's coroutine to its end; Ctrl-C cancels it. At a terminal it shows that it is
    working if that takes longer than `SILENT_SECONDS` and nothing else shows progress, unless the
    command itself `talks` meanwhile."""
    from weft.cli.progress import at_work

    if talks:
        return asyncio.run(work)

    async def shown() -> T:
        showing = asyncio.create_task(at_work(SILENT_SECONDS))
        try:
            return await work
        finally:
            showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)

    return asyncio.run(shown())


def client(settings: Settings) -> Client:
    """`async with client(settings) as log:`; imported late, since importing nats-py takes time."""
    from weft.client import Client

    return Client(settings)


@asynccontextmanager
async def connection(settings: Settings, command: str) -> AsyncIterator[Connection]:
    """`async with connection(settings, "fork") as log:`, for commands that need no client."""
    from weft.log.transport import connect

    opened = await connect(name=f"weft-{command}", **settings.connection())
    try:
        yield opened
    finally:
        await opened.close()
