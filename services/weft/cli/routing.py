"""`weft route` and `weft hydrate`: the right tool, and the values that fit it."""

from __future__ import annotations

import click

from weft.cli.connecting import client, connected, json_option, running, session_option
from weft.cli.output import hint, print_json, table
from weft.runtime.settings import Settings
from weft_schemas.routing import HydrationResult, RouteReply

catalog_option = click.option(
    "--catalog", "-c", default="default", show_default=True, metavar="NAME"
)


@click.command()
@click.argument("query")
@catalog_option
@click.option("--top-k", "-k", type=int, default=5, show_default=True)
@click.option("--namespace", multiple=True, help="Only these; may be repeated.")
@click.option("--tag", multiple=True, help="Only with these; may be repeated.")
@click.option("--exclude", multiple=True, metavar="ID", help="Never these; may be repeated.")
@click.option("--session", "-s", metavar="ID", help="Its experience with the tools counts.")
@json_option
@connected
def route(
    query: str,
    catalog: str,
    top_k: int,
    namespace: tuple[str, ...],
    tag: tuple[str, ...],
    exclude: tuple[str, ...],
    session: str | None,
    as_json: bool,
    settings: Settings,
) -> None:
    """Show the cards of the tools that fit QUERY best. QUERY describes the task in search
    terms; it is not the user's whole turn.

    \b
    Example:
      weft route "refund a card payment" --catalog shop --top-k 3
    """
    reply = running(_route(settings, query, catalog, top_k, namespace, tag, exclude, session))
    if as_json:
        print_json(reply)
        return
    rows = [
        [card.name, f"{card.score:.2f}", card.side_effects or card.note, card.description]
        for card in reply.cards
    ]
    table("", ["tool", "score", "warning", "description"], rows)
    if reply.reason:
        hint(reply.reason)


async def _route(
    settings: Settings,
    query: str,
    catalog: str,
    top_k: int,
    namespaces: tuple[str, ...],
    tags: tuple[str, ...],
    exclude: tuple[str, ...],
    session: str | None,
) -> RouteReply:
    async with client(settings) as log:
        return await log.route(
            query,
            catalog,
            top_k=top_k,
            namespaces=namespaces,
            tags=tags,
            exclude=exclude,
            session=session,
        )


@click.command()
@click.argument("tool")
@session_option
@catalog_option
@click.option("--query", "-q", default="", help="Ranks the values.")
@json_option
@connected
def hydrate(
    tool: str, session: str, catalog: str, query: str, as_json: bool, settings: Settings
) -> None:
    """Show TOOL's schema, and for each parameter the session's values that fit, with their
    sources.

    \b
    Example:
      weft hydrate refund_payment --session s1 --catalog shop
    """
    reply = running(_hydrate(settings, tool, session, catalog, query))
    if as_json:
        print_json(reply)
        return
    rows = [
        [name, value.value, value.source, f"{value.score:.2f}"]
        for name, values in reply.values.items()
        for value in values
    ]
    table(f"{reply.tool.name}: {reply.tool.description}", ["parameter", "value", "from", "score"],
          rows)  # fmt: skip


async def _hydrate(
    settings: Settings, tool: str, session: str, catalog: str, query: str
) -> HydrationResult:
    async with client(settings) as log:
        return await log.hydrate(tool, session, catalog=catalog, query=query)
