"""`weft gateway`: a host's tools through the firewall and the log; `status` and `approve`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import webbrowser
from collections.abc import Coroutine
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.connecting import connected, json_option, named_server
from weft.cli.output import hint, print_json
from weft.runtime.settings import Settings
from weft_schemas.errors import ConfigurationError, NotFound, WeftError

if TYPE_CHECKING:
    from weft.gateway.configuration.config import GatewayConfig, ServerSpec
    from weft.gateway.log.host_log import HostLog
    from weft.supervision.preloaded import PreloadedProcess

DATA = Path.home() / ".weft"
"""Hosts start their servers in any folder, so the data folder is always the same one."""

_END_SECONDS = 1.0
"""How long to wait for messages to a host that may have stopped reading."""

data_option = click.option("--data", "data_dir", type=click.Path(path_type=Path), metavar="DIR",
                     help="Data folder.  [WEFT_DATA_DIR, else ~/.weft]")  # fmt: skip


class _GatewayGroup(click.Group):
    """`weft gateway --config FILE` is `weft gateway serve --config FILE`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0].startswith("-") and args[0] not in ("--help", "-h"):
            args = ["serve", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_GatewayGroup)
def gateway() -> None:
    """Stand between MCP hosts and MCP servers: tools found by routing, results through the
    firewall, everything in the log. `weft gateway --config FILE` serves."""


@gateway.command()
@click.option("--config", "file", type=click.Path(path_type=Path), required=True, metavar="FILE",
              help="mcp.json, claude_desktop_config.json or VS Code's file.")  # fmt: skip
@click.option("--http", "port", type=click.IntRange(0, 65_535), metavar="PORT",
              help="Serve HTTP at /mcp instead of stdio; 0 takes a free port.")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="Address for --http.")
@click.option("--mode", type=click.Choice(["pass", "search", "auto"]), help="Not the file's.")
@click.option("--limit", type=click.IntRange(100, 1_000_000), metavar="TOKENS",
              help="Of a result that is shown at once, instead of the file's.")  # fmt: skip
@click.option("--session", default="", metavar="ID", help="The log's session; else one per host.")
@data_option
@connected
def serve(
    file: Path,
    port: int | None,
    host: str,
    mode: str | None,
    limit: int | None,
    session: str,
    data_dir: Path | None,
    settings: Settings,
) -> None:
    """Serve the servers of FILE to one host on stdio, or to any number over HTTP.

    The gateway uses the running weft that --nats or WEFT_NATS_URL names, or one on the usual
    port; otherwise it starts one in the data folder. HTTP hosts must send WEFT_GATEWAY_TOKEN.

    \b
    Examples:
      weft gateway --config ~/.claude/mcp.json
      weft gateway --config mcp.json --http 8700 --mode search
    """
    needed()
    from weft.gateway.configuration.file import read_config

    named = named_server() is not None
    token = settings.gateway_token or ""
    if port is not None and host not in ("127.0.0.1", "localhost", "::1") and not token:
        raise ConfigurationError(
            f"--host {host} lets others reach your tools; set WEFT_GATEWAY_TOKEN, which hosts then "
            "send as a bearer token"
        )
    config = read_config(file)
    serving = (token, mode, limit, session)
    with forked_when_started(settings) as forked:
        # After the fork, since what is forked would keep the port when the gateway is gone.
        listening = _listening(host, port) if port is not None else None
        place = (config, str(file.absolute()), host, listening)
        asyncio.run(_serve(located(settings, data_dir), named, forked, *place, *serving))


def _listening(host: str, port: int) -> socket.socket:
    from weft.web_server import listener

    return listener(host, port, "choose another --http")


def forked_when_started(settings: Settings) -> AbstractContextManager[PreloadedProcess | None]:
    """For the services of a weft that a gateway starts: only then does it import what they need."""
    from weft.cli.services import preloaded
    from weft.gateway.log.deployment import PROCESSES

    return preloaded(PROCESSES, settings.encoding, at_once=False)


async def _serve(
    settings: Settings,
    named: bool,
    forked: PreloadedProcess | None,
    config: GatewayConfig,
    source: str,
    host: str,
    listening: socket.socket | None,
    token: str,
    mode: str | None,
    limit: int | None,
    session: str,
) -> None:
    import msgspec

    from weft.gateway.data_folder import DataFolder
    from weft.gateway.gateway import Gateway
    from weft.gateway.log.deployment import GatewayDeployment
    from weft.gateway.serving import serve_stdio, serving_http
    from weft.runtime.logs import set_up_logging

    set_up_logging("gateway", settings.log_level)
    given = {"mode": mode, "limit": limit}
    changes = {key: value for key, value in given.items() if value is not None}
    options = msgspec.structs.replace(config.options, **changes)
    config = msgspec.structs.replace(config, options=options)
    for left_out in config.left_out:
        hint(f"left out: {left_out}")
    behind = GatewayDeployment(settings, named=named, preloaded=forked)
    folder = DataFolder(settings.data_dir)
    async with Gateway(config, behind, folder, session=session, source=source) as running:
        running.background.spawn(_told_if_it_fails(running.log))
        if listening is None:
            if sys.stdin.isatty():
                hint(
                    "serving one host on stdin and stdout, as hosts start it; `weft gateway "
                    "status` tells how it is, --http PORT serves any number, Ctrl-C ends it"
                )
            await until_closed(serve_stdio(running))
        else:
            stop = _stop_signal()
            async with serving_http(running, host, listening, token) as taken:
                running.address = f"http://{host}:{taken}/mcp"
                hint(f"serving {running.address}, data in {settings.data_dir}")
                await stop.wait()


async def _told_if_it_fails(log: HostLog) -> None:
    try:
        await log.deployment()
    except WeftError as error:
        hint(f"weft: no call can be made without the log: {error}")


async def until_closed(serving: Coroutine[Any, Any, None]) -> None:
    """Serve until the host closes stdin, or until SIGINT or SIGTERM."""
    stop = _stop_signal()
    tasks = [asyncio.create_task(serving), asyncio.create_task(stop.wait())]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=_END_SECONDS)


def _stop_signal() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


@gateway.command()
@json_option
@data_option
def status(data_dir: Path | None, as_json: bool) -> None:
    """Show what each gateway of the data folder has configured, discovered, started and called,
    and which tools are quarantined."""
    needed()
    from weft.gateway.data_folder import DataFolder

    folder = DataFolder(_folder(data_dir))
    running, pinned = folder.running(), folder.pinned()
    if as_json:
        quarantined = list(pinned.quarantined.values())
        print_json({"gateways": running, "pinned": len(pinned.pins), "quarantined": quarantined})
        return
    for one in running:
        where = one.address or "stdio"
        log = f"log {one.log}" if one.log else f"no log: {one.log_fault or 'it is being opened'}"
        click.echo(f"gateway {one.pid}: {one.config}, {where}, mode {one.mode}, {log}")
        for name in one.hosts:
            click.echo(f"  host {name}")
        if one.hosts and one.log:
            hint(f"what a host did: weft events --nats {one.log} --session ID, as in brackets")
        for server in one.servers:
            last_error = f", {server.last_error}" if server.last_error else ""
            click.echo(
                f"  {server.name:<20} {server.state:<10} {_number(server.tools, 'tool')}, "
                f"{_number(server.calls, 'call')}, {_number(server.errors, 'error')}, "
                f"{_number(server.failures, 'failure')}{last_error}"
            )
    if not running:
        hint("no gateway runs on this data folder")
    click.echo(f"{_number(len(pinned.pins), 'tool')} pinned, {len(pinned.quarantined)} quarantined")
    for tool in pinned.quarantined.values():
        click.echo(f"  {tool.id}#{tool.hash}: {tool.reason}")


@gateway.command()
@click.argument("pattern")
@data_option
def approve(data_dir: Path | None, pattern: str) -> None:
    """Allow quarantined tools: `server:tool`, `server:tool#hash`, or a glob such as `server:*`.
    Running gateways notice it within a second.

    \b
    Example:
      weft gateway approve 'github:*'
    """
    needed()
    from weft.gateway.data_folder import DataFolder, PinFile
    from weft.gateway.tools.quarantine import approved

    folder = DataFolder(_folder(data_dir))
    with folder.locked():
        pinned = folder.pinned()
        pins, let = approved(pattern, pinned.quarantined, pinned.pins)
        left = {key: one for key, one in pinned.quarantined.items() if one not in let}
        folder.keep_pinned(PinFile(pins, left))
    if not let:
        raise NotFound(f"no quarantined tool matches {pattern!r}; see weft gateway status")
    for one in let:
        click.echo(f"approved {one.id}#{one.hash} ({one.reason})")


@gateway.command()
@click.argument("server")
@click.option("--config", "file", type=click.Path(path_type=Path), required=True, metavar="FILE",
              help="The file that names the server.")  # fmt: skip
@click.option("--no-browser", is_flag=True, help="Only print the address to open.")
@data_option
def login(server: str, file: Path, no_browser: bool, data_dir: Path | None) -> None:
    """Sign in to SERVER, which must have a URL, in a browser. The gateways of the data folder
    use the tokens when they next start the server, and renew them.

    \b
    Example:
      weft gateway login github --config ~/servers.json
    """
    needed()
    from weft.gateway.data_folder import DataFolder
    from weft.gateway.oauth.login import sign_in

    spec = _at_address(server, file)
    folder = DataFolder(_folder(data_dir))
    # The SDK logs what it raises, with the place in its code; the reason alone is told.
    logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)

    async def show(address: str) -> None:
        hint(f"open this address, and sign in there:\n{address}")
        if not no_browser:
            await asyncio.to_thread(webbrowser.open, address)

    is_needed = asyncio.run(sign_in(spec, folder.sign_in(spec.name, spec.url), show))
    if not is_needed:
        click.echo(f"{server} lets this gateway in without signing in")
        return
    click.echo(f"signed in to {server}; its tokens are kept in {folder.path / 'sign-in'}")


@gateway.command()
@click.argument("server")
@click.option("--config", "file", type=click.Path(path_type=Path), required=True, metavar="FILE",
              help="The file that names the server.")  # fmt: skip
@data_option
def logout(server: str, file: Path, data_dir: Path | None) -> None:
    """Forget the tokens of SERVER. The authorization server is not told."""
    needed()
    from weft.gateway.data_folder import DataFolder
    from weft.gateway.oauth.token_file import locked

    spec = _at_address(server, file)
    path = DataFolder(_folder(data_dir)).sign_in(spec.name, spec.url)
    if not path.exists():
        raise NotFound(f"nobody is signed in to {server!r}")

    async def forget() -> None:
        async with locked(path):  # otherwise a gateway that renews it now would write it again
            path.unlink(missing_ok=True)

    asyncio.run(forget())
    click.echo(f"signed out of {server}")


def _at_address(server: str, file: Path) -> ServerSpec:
    from weft.gateway.configuration.file import read_config

    servers = read_config(file).servers
    spec = servers.get(server)
    if spec is None:
        known = ", ".join(map(repr, servers)) or "none"
        raise NotFound(f"{file}: there is no server {server!r}; its servers are {known}")
    if spec.transport == "stdio":
        raise ConfigurationError(f"{server!r} is started here, so it has no sign-in; give it `env`")
    if spec.oauth is not None:
        raise ConfigurationError(
            f"{server!r} is reached with credentials of its own (`oauth`), not as a person"
        )
    return spec


def _folder(data_dir: Path | None) -> Path:
    return data_dir or Path(os.environ.get("WEFT_DATA_DIR") or DATA)


def located(settings: Settings, data_dir: Path | None) -> Settings:
    """With the data folder of gateways, and that folder's secret."""
    import msgspec

    from weft.runtime.deployment import known_secret

    data_dir = _folder(data_dir)
    key = os.environ.get("WEFT_FINGERPRINT_KEY", "") or known_secret(data_dir)
    return msgspec.structs.replace(settings, data_dir=data_dir, fingerprint_key=key)


def needed() -> None:
    with contextlib.suppress(ModuleNotFoundError):
        import mcp  # noqa: F401

        return
    raise ConfigurationError(
        "the gateway needs the mcp package; in weft's checkout: pip install '.[workers,gateway]'"
    )


def _number(count: int, of: str) -> str:
    return f"{count} {of}" if count == 1 else f"{count} {of}s"
