"""`weft facts`: what is remembered for a scope, and which items said it."""

from __future__ import annotations

import click

from weft.cli.connecting import client, connected, json_option, running
from weft.cli.output import hint, print_json, table
from weft.runtime.settings import Settings
from weft_schemas.status import KnownFact


@click.command()
@click.argument("scope")
@click.option("--session", "-s", metavar="ID",
              help="Ask from this session, under its policy; `session:ID` needs it.")  # fmt: skip
@json_option
@connected
def facts(scope: str, session: str | None, as_json: bool, settings: Settings) -> None:
    """List the facts in force of SCOPE, a user or a project, with their sources.

    The sequence is that of the item that said a fact last. A value that the application gave
    stands, and beside it what the user has said later. Facts at or above the policy's sensitivity
    floor are left out, and a scope must be granted, as for a compile.

    \b
    Examples:
      weft facts user:42
      weft facts session:s1 --session s1 --json
    """
    found = running(_facts(settings, scope, session))
    if as_json:
        print_json(found)
        return
    if not found:
        hint(f"nothing is remembered for {scope}")
        return
    rows = [
        [one.key, one.value, one.said_later, one.session, ", ".join(one.sources), one.sequence]
        for one in found
    ]
    table("", ["fact", "value", "said later", "session", "sources", "sequence"], rows)


async def _facts(settings: Settings, scope: str, session: str | None) -> tuple[KnownFact, ...]:
    async with client(settings) as log:
        return await log.facts(scope, session=session)
