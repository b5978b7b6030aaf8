"""`weft mcp`: weft itself as an MCP server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.connecting import connected, named_server
from weft.cli.gateway import data_option, forked_when_started, located, needed, until_closed
from weft.runtime.settings import Settings

if TYPE_CHECKING:
    from weft.supervision.preloaded import PreloadedProcess


@click.command()
@click.option("--scope", default="user:me", show_default=True, metavar="NAME",
              help="Whose memory it is.")  # fmt: skip
@click.option("--session", default="", metavar="ID", help="The log's session; else one per run.")
@data_option
@connected
def mcp(scope: str, session: str, data_dir: Path | None, settings: Settings) -> None:
    """Run weft as an MCP server on stdio: publish, compile, remember, recall, correct, forget,
    and look into results. For hosts that cannot use weft in another way.

    The server uses the running weft that --nats or WEFT_NATS_URL names, or one on the usual
    port; otherwise it starts one in the data folder, shared with `weft gateway`.

    \b
    Example:
      claude mcp add memory -- weft mcp --scope user:ada
    """
    needed()
    named = named_server() is not None
    with forked_when_started(settings) as forked:
        asyncio.run(_serve(located(settings, data_dir), named, forked, scope, session))


async def _serve(
    settings: Settings, named: bool, forked: PreloadedProcess | None, scope: str, session: str
) -> None:
    from weft.gateway.log.deployment import GatewayDeployment
    from weft.gateway.weft_server import serve_own
    from weft.runtime.logs import set_up_logging

    set_up_logging("mcp", settings.log_level)
    async with GatewayDeployment(settings, named=named, preloaded=forked) as behind:
        await until_closed(serve_own(behind, scope, session))
