"""`weft compile`, `drilldown`: what a prompt contains, and what is behind it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import click
import msgspec

from weft.cli.connecting import client, connected, json_option, running, session_option
from weft.cli.output import hint, left_out_in_words, print_json
from weft.runtime.settings import Settings
from weft_schemas.errors import InvalidInput
from weft_schemas.policy import Phase

if TYPE_CHECKING:
    from weft.client import Client
    from weft.client.pack import Pack
    from weft_schemas.compile import (
        BuildStats,
        DrilldownReply,
        PendingItem,
    )

Format = Literal["text", "json", "openai", "anthropic"]

HANDLE = re.compile(r"art:[a-z2-7]{10}")
"""Handles as made by `weft_schemas.ids.artifact_handle`, keyed or not."""
_SEQUENCE = re.compile(r"[0-9]{1,40}")
"""One that is too large is told as a number; Python reads none of more than 4,300 digits."""
_NAMES = 8
"""How many tools an error message lists."""

phase_option = click.option(
    "--phase", "-p", required=True, type=click.Choice([str(phase) for phase in Phase])
)
query_option = click.option("--query", "-q", default="", help="Only ranks; never in the prompt.")
budget_option = click.option(
    "--budget", type=int, metavar="TOKENS", help="Default: the policy's for the phase."
)
as_of_option = click.option(
    "--as-of", metavar="SEQ|TIME", help="The world at this sequence, or at this time (RFC 3339)."
)
reserve_option = click.option(
    "--reserve", type=int, default=0, metavar="TOKENS", help="Taken off the budget."
)
stable_from_option = click.option(
    "--stable-from", metavar="ID", help="Keep that pack's text as a prefix."
)
timeout_option = click.option(
    "--timeout", type=float, default=2.0, metavar="SECONDS", help="Longest wait."
)
pin_option = click.option(
    "--pin", multiple=True, metavar="ID", help="An item that stands in it; repeatable."
)
tools_option = click.option(
    "--tools",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Phase route and call: the tools on offer, JSON or YAML, of MCP, OpenAI, Anthropic or "
    "weft.",
)
tool_option = click.option("--tool", metavar="NAME", help="Phase call: the chosen tool.")
catalog_option = click.option(
    "--catalog", metavar="NAME", help="Phase route and call: the catalogue of tools."
)


def format_option(help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--format` and `--json`, as which a prompt is printed."""

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        as_json = click.option("--json", "as_json", is_flag=True, help="As --format json.")
        choice = click.Choice(get_args(Format))
        return click.option("--format", default="text", type=choice, help=help)(as_json(command))

    return with_options


def chosen_format(format: Format, as_json: bool) -> Format:
    """Raises `click.UsageError` if both options are given and differ."""
    if not as_json:
        return format
    if format not in ("text", "json"):
        raise click.UsageError(f"--json is --format json; give it or --format {format}")
    return "json"


@click.command()
@session_option
@phase_option
@query_option
@budget_option
@reserve_option
@as_of_option
@click.option("--after", type=int, default=0, metavar="SEQ", help="Wait until it is folded.")
@timeout_option
@stable_from_option
@pin_option
@tools_option
@tool_option
@catalog_option
@format_option("The prompt; the whole pack; messages ready for a provider.")
@connected
def compile(
    tools: Path | None, format: Format, as_json: bool, settings: Settings, **request: Any
) -> None:
    """Compile the context for one step of the agent's loop.

    The prompt goes to stdout, the numbers of included and dropped items to stderr.

    \b
    Examples:
      weft compile --session s1 --phase answer --query "when does it leave?"
      weft compile -s s1 -p call --budget 1000 --format anthropic > request.json
      weft compile -s s1 -p route --query "refund" --tools tools.json
      weft compile -s s1 -p interpret --as-of 120 --json | jq .stats
      weft compile -s s1 -p answer --as-of 2026-01-31T12:00:00Z
    """
    format = chosen_format(format, as_json)
    offered = offered_tools(tools)
    check_chosen(request["tool"], offered, request["catalog"])
    pack = running(_compile(settings, tools=offered, **request))
    if format == "json":
        print_json(pack)
    elif format == "text":
        click.echo(pack.prompt)
        _summarise(pack, request["after"], is_past=request["as_of"] is not None)
    else:
        print_json(pack.request(format))
        _tell_notes(pack)


async def _compile(settings: Settings, session: str, **request: Any) -> Pack:
    async with client(settings) as log:
        request["as_of"] = await sequence_of(log, request["as_of"])
        return await log.compile(session, **request)


def offered_tools(file: Path | None) -> list[dict[str, Any]]:
    """The tools in a file. Raises `InvalidInput` with every fault, by tool and field."""
    if file is None:
        return []
    from weft.cli.catalog import read_catalog

    return [msgspec.to_builtins(item) for item in read_catalog(file, str(file)).items]


def check_chosen(tool: str | None, offered: list[dict[str, Any]], catalog: str | None) -> None:
    """Otherwise a tool without a description would be left out silently."""
    if tool is None or catalog or any(tool == one["name"] for one in offered):
        return
    names = ", ".join(sorted(one["name"] for one in offered)[:_NAMES])
    among = f"is none of {names}" if names else "is described nowhere; give --tools or --catalog"
    raise InvalidInput(f"--tool {tool}: {among}")


async def sequence_of(log: Client, as_of: str | None) -> int | None:
    """A sequence as given; for a time, its sequence, which the log is asked for."""
    if as_of is None:
        return None
    if _SEQUENCE.fullmatch(as_of):
        return int(as_of)
    from weft.audit.time_to_sequence import parse_time, sequence_at

    return await sequence_at(log.connection, parse_time(as_of))


def _stats_text(stats: BuildStats) -> str:
    """`6 of 6 items, 3 shortened, 12,400 tokens behind handles`."""
    parts = [f"{stats.included_count} of {stats.session_items} items"]
    if stats.shortened_count:
        parts.append(f"{stats.shortened_count} shortened")
    if stats.withheld_tokens:
        parts.append(f"{stats.withheld_tokens:,} tokens behind handles")
    return ", ".join(parts)


def _summarise(pack: Pack, after: int, is_past: bool) -> None:
    stats = pack.stats
    dropped = ", ".join(f"{count} {reason}" for reason, count in stats.dropped_reasons.items())
    hint(
        f"\n{stats.prompt_tokens:,} of {stats.budget:,} tokens · {_stats_text(stats)}"
        f"{f' · dropped: {dropped}' if dropped else ''} · sequence {pack.sequence} · {pack.id}"
    )
    for item in pack.pending:
        how = "; a later --as-of may show it" if is_past else _how_to_wait(item, after)
        hint(f"pending: {item.item_id or item.sequence} ({item.reason}){how}")
    for entry in pack.entries:
        for signal in entry.signals:
            if signal.kind == "injection":
                hint(f"flagged: {entry.item_id} {signal.detail} ({signal.name}, {signal.score:g})")
    _tell_notes(pack)


def _how_to_wait(item: PendingItem, after: int) -> str:
    """For an item of a compile that waited until `after` was folded, or until its timeout."""
    if not item.item_id:
        return ""
    if item.sequence > after:
        return f"; --after {item.sequence} waits for it"
    return "; a longer --timeout waits for it, and `weft status` tells why it takes so long"


def _tell_notes(pack: Pack) -> None:
    for note in pack.stats.notes:
        hint(f"note: {note}")
    if pack.left_out:
        hint(f"note: {left_out_in_words(pack.left_out)}")


@click.command()
@click.argument("handle")
@click.option("--view", default="head", help="head, lines, search, json, rows, …")
@click.option("--arg", "-a", "args", multiple=True, metavar="NAME=VALUE", help="For the view.")
@click.option("--max-tokens", type=int, default=1_000, show_default=True)
@click.option("--timeout", type=float, metavar="SECONDS",
              help="Longest wait for the answer. Default: until the service gives up.")  # fmt: skip
@json_option
@connected
def drilldown(
    handle: str,
    view: str,
    args: tuple[str, ...],
    max_tokens: int,
    timeout: float | None,
    as_json: bool,
    settings: Settings,
) -> None:
    """Look into the raw body behind HANDLE (`art:…`, as prompts show it).

    \b
    Examples:
      weft drilldown art:k3m7zq2dpa
      weft drilldown art:k3m7zq2dpa --view lines -a start=100 -a count=20
      weft drilldown art:k3m7zq2dpa --view search -a pattern=ERROR -a context=2
    """
    if not HANDLE.fullmatch(handle):
        raise InvalidInput(f"{handle!r} is no handle; they look like art:k3m7zq2dpa")
    from weft.client.drilldown import checked_arguments

    named = checked_arguments(_named(args))
    reply = running(_drilldown(settings, handle, view, max_tokens, timeout, named))
    if as_json:
        print_json(reply)
        return
    click.echo(reply.text)
    for signal in reply.signals or ():
        if signal.kind == "injection":
            hint(f"flagged: {signal.detail} ({signal.name}, {signal.score:g})")
    following = "".join(f" -a {name}={value}" for name, value in (reply.next or {}).items())
    hint(
        f"\n{reply.tokens} tokens of {reply.item_id} in {reply.session} ({reply.content_type}); "
        f"views: {', '.join(reply.views)}"
        + (f"; next: --view {view}{following}" if following else "")
    )


async def _drilldown(
    settings: Settings,
    handle: str,
    view: str,
    max_tokens: int,
    timeout: float | None,
    args: Mapping[str, Any],
) -> DrilldownReply:
    async with client(settings) as log:
        return await log.drilldown(handle, view, max_tokens=max_tokens, timeout=timeout, **args)


def _named(args: tuple[str, ...]) -> dict[str, Any]:
    """`name=value`, where the value is a number or a boolean if JSON writes it just so, otherwise
    text: 007 and 1.50 stay as they are written."""
    found: dict[str, Any] = {}
    for arg in args:
        name, equals, text = arg.partition("=")
        if not equals or not name:
            raise InvalidInput(f"-a {arg}: give NAME=VALUE")
        found[name] = _value(text)
    return found


def _value(text: str) -> str | int | float | bool:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return text
    is_same = isinstance(value, int | float) and msgspec.json.encode(value).decode() == text
    return value if is_same else text
