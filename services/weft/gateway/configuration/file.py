"""Reads the configuration file of an MCP host as the gateway's own. Claude Code's `.mcp.json`,
`claude_desktop_config.json`, and the `mcp.json` of Cursor and VS Code name their servers in two
ways; the gateway's own options stand under the key `weft`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec

from weft.gateway.configuration.call_rules import Rule
from weft.gateway.configuration.config import (
    Collisions,
    GatewayConfig,
    Limits,
    Mode,
    Options,
    ServerSpec,
)
from weft.gateway.configuration.variables import Variables
from weft_schemas.errors import ConfigurationError
from weft_schemas.faults import converted


class _Entry(msgspec.Struct, kw_only=True):
    """A server in any of these files; other fields that hosts write are ignored."""

    type: str | None = None
    transport: str | None = None
    command: str | None = None
    args: list[str] = []
    env: dict[str, str | None] = {}
    cwd: str | None = None
    url: str | None = None
    serverUrl: str | None = None
    httpUrl: str | None = None
    headers: dict[str, str] = {}
    disabled: bool = False


def read_config(path: Path, environ: Mapping[str, str] = os.environ) -> GatewayConfig:
    """Raises `ConfigurationError` that names the file, the server and the field, and says what to
    write."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError(
            f"{path}: {reason}; give --config the JSON file that names your MCP servers"
        ) from None
    return config_from(text, str(path), environ, path.parent)


def config_from(
    text: str, source: str, environ: Mapping[str, str] = os.environ, folder: Path | None = None
) -> GatewayConfig:
    """The configuration in a file's text; `folder` is the workspace's."""
    try:
        content = json.loads(_without_comments(text))
    except ValueError as error:
        raise ConfigurationError(f"{source}: is no JSON: {error}") from None
    except RecursionError:
        raise ConfigurationError(f"{source}: is nested too deeply; flatten it") from None
    named = _servers(content)
    if named is None:
        raise ConfigurationError(
            f"{source}: names no servers; give them under `mcpServers`, or `servers` as VS Code"
        )
    try:
        options = _options(content.get("weft", {}))
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"{source}: weft: {_with_choices(str(error))}") from None
    _check_names(options, named, source)
    servers, left_out = dict[str, ServerSpec](), list[str]()
    variables = Variables(environ, folder or Path.cwd())
    for name, entry in named.items():
        where = f"{source}: server {name!r}"
        try:
            spec = _spec(name, converted(entry, _Entry), options, variables)
        except msgspec.ValidationError as error:
            raise ConfigurationError(f"{where}: {error}") from None
        except ValueError as error:
            raise ConfigurationError(f"{where}: {error}") from None
        if isinstance(spec, str):
            left_out.append(f"{name}: {spec}")
        else:
            servers[name] = spec
    return GatewayConfig(servers=servers, options=options, left_out=tuple(left_out))


def _check_names(options: Options, named: Mapping[str, Any], source: str) -> None:
    """Options are about servers in the file."""
    for name in (*options.servers, *options.sampling, *options.oauth, *options.sign_in):
        if name not in named:
            raise ConfigurationError(
                f"{source}: weft: there is no server {name!r} in the file; its servers are "
                f"{', '.join(map(repr, named))}"
            )


def _options(content: Any) -> Options:
    """Raises `msgspec.ValidationError`."""
    options = converted(content, Options)
    limits, own = content.get("limits", {}), content.get("servers", {})
    merged = {name: converted(limits | given, Limits) for name, given in own.items()}
    return msgspec.structs.replace(options, servers=merged)


def _with_choices(fault: str) -> str:
    """The fault of an option, with what may be given where only some words may."""
    found = re.fullmatch(r"Invalid enum value .* `\$\.(\w+).*`", fault)
    words = get_args(_CHOICES.get(found[1])) if found else ()
    return f"{fault}: use {', '.join(words[:-1])} or {words[-1]}" if words else fault


_CHOICES = {"mode": Mode, "tools": Rule, "collisions": Collisions}
"""Options whose values are one of some words."""


def _servers(content: Any) -> dict[str, Any] | None:
    if not isinstance(content, dict):
        return None
    for part in (content, content.get("mcp")):
        if isinstance(part, dict):
            for key in ("mcpServers", "servers"):
                if isinstance(part.get(key), dict):
                    servers: dict[str, Any] = part[key]
                    return servers
    return None


def _spec(name: str, entry: _Entry, options: Options, variables: Variables) -> ServerSpec | str:
    if ":" in name or not name.strip() or not name.isprintable():
        raise ValueError("a server's name is printable and has no colon; rename it")
    if entry.disabled:
        return "it is disabled in the file"
    limits = options.servers.get(name, options.limits)
    sampling, oauth = name in options.sampling, options.oauth.get(name)
    sign_in = options.sign_in.get(name)
    if oauth is not None and sign_in is not None:
        raise ValueError("has both `oauth` and `sign_in`; give the one that it is to go by")
    url = entry.url or entry.serverUrl or entry.httpUrl
    if entry.command:
        if oauth is not None or sign_in is not None:
            raise ValueError("is started here, so it takes no `oauth` or `sign_in`; give it `env`")
        command, args = variables.filled(entry.command), [variables.filled(a) for a in entry.args]
        if _is_gateway(command, args):
            return "it is this gateway"
        env = {
            key: variables.filled(value) for key, value in entry.env.items() if value is not None
        }
        cwd = variables.filled(entry.cwd) if entry.cwd else None
        return ServerSpec(
            name=name, transport="stdio", command=command, args=tuple(args), env=env, cwd=cwd,
            limits=limits, sampling=sampling,
        )  # fmt: skip
    if not url:
        raise ValueError("has neither `command` nor `url`; give one")
    address = variables.filled(url)
    if not address.lower().startswith(("http://", "https://")):
        raise ValueError(f"an address starts with http:// or https://, not as {address[:8]!r}")
    kind = (entry.type or entry.transport or "http").lower()
    headers = {key: variables.filled(value) for key, value in entry.headers.items()}
    return ServerSpec(
        name=name, transport="sse" if kind == "sse" else "http", url=address,
        headers=headers, limits=limits, sampling=sampling,
        oauth=oauth and variables.filled_in(oauth),
        sign_in=sign_in and variables.filled_in(sign_in),
    )  # fmt: skip


def _is_gateway(command: str, args: list[str]) -> bool:
    words = [Path(command).name, *args]
    return "gateway" in args and any(word in ("weft", "weft.cli.entry") for word in words)


_STRING = r'"(?:[^"\\]++|\\.)*+"?'
_COMMENT = re.compile(_STRING + r"|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?", re.DOTALL)
_TRAILING = re.compile(_STRING + r"|,(?=\s*+[}\]])", re.DOTALL)


def _without_comments(text: str) -> str:
    """JSON as editors write it: comments and trailing commas are removed."""
    kept = _COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else " ", text)
    return _TRAILING.sub(lambda match: match[0] if match[0][0] == '"' else "", kept)
