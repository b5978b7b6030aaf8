"""`weft serve`: weft over HTTP, beside the workers."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click

from weft.cli.connecting import connected
from weft.cli.output import hint
from weft.http.limits import MAX_BODY_BYTES, MEGABYTE, RATE
from weft.runtime.settings import Settings
from weft_schemas.errors import ConfigurationError

PORT = 8080


@click.command()
@click.option("--host", metavar="ADDRESS", help="To listen on.  [WEFT_HTTP_HOST, else 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65_535), metavar="PORT",
              help=f"0 takes a free one.  [WEFT_HTTP_PORT, else {PORT}]")  # fmt: skip
@click.option("--tokens", type=click.Path(path_type=Path), metavar="FILE",
              help="Who may ask, and as whom; without it loopback alone is served.")  # fmt: skip
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), default=RATE,
              show_default=True, metavar="N", help="Requests a second of one token.")  # fmt: skip
@click.option("--max-body", type=click.IntRange(min=1), default=MAX_BODY_BYTES // MEGABYTE,
              show_default=True, metavar="MB", help="Largest body of a request.")  # fmt: skip
@click.option("--openapi", is_flag=True, help="Print the OpenAPI document and end.")
@connected
def serve(
    host: str | None,
    port: int | None,
    tokens: Path | None,
    rate: float,
    max_body: int,
    openapi: bool,
    settings: Settings,
) -> None:
    """Serve weft over HTTP until SIGTERM or Ctrl-C: publish, compile, route, events, traces in.

    The page is at /, the OpenAPI document at /openapi.json. Each token in the file stands for a
    tenant and a NATS credential, and has the credential's rights. Without a file every request
    belongs to --tenant and uses this command's credential, and only loopback is served.

    \b
    Examples:
      weft serve
      weft serve --host 0.0.0.0 --tokens tokens.toml
      weft serve --openapi > openapi.json
    """
    try:
        from weft.http.openapi import encoded
        from weft.http.service import serve as run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("weft", "weft_schemas"):
            raise  # a fault of weft, which installing a package does not fix
        raise ConfigurationError(
            f"`weft serve` needs {error.name}; in weft's checkout: pip install '.[http]'"
        ) from None
    if openapi:
        click.echo(encoded(), nl=False)
        return
    from weft.http.grants import read_grants

    grants = read_grants(tokens, os.environ) if tokens is not None else None
    where = host or settings.http_host
    chosen = (settings.http_port or PORT) if port is None else port

    def listening(taken: int) -> None:
        name = f"[{where}]" if ":" in where else where
        hint(f"weft at http://{name}:{taken}, the log at {settings.nats_url}")
        if grants is None:
            hint(
                f"no tokens: whoever reaches this port has all of tenant {settings.tenant!r}; "
                "give --tokens FILE to serve others"
            )

    asyncio.run(
        run(
            settings,
            where,
            chosen,
            grants,
            most_bytes=max_body * MEGABYTE,
            rate=rate,
            listening=listening,
            tell=lambda line: hint(f"weft serve: {line}"),
        )
    )
