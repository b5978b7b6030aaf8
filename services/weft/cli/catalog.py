"""`weft catalog` and `weft graph`: catalogues of tools as files, events and graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.connecting import client, connected, json_option, running
from weft.cli.output import hint, print_json
from weft.runtime.settings import Settings
from weft_schemas.errors import InvalidInput

if TYPE_CHECKING:
    from weft_schemas.routing import Catalog

name_option = click.option("--name", "-n", default="default", show_default=True, metavar="NAME")
file_argument = click.argument("file", type=click.Path(path_type=Path))


@click.group()
def catalog() -> None:
    """Catalogues of what a router can choose from: tools, agents, skills.

    Files are JSON or YAML: native items, MCP `tools/list`, OpenAI or Anthropic tool definitions.
    """


@catalog.command(short_help="Publish FILE as a catalogue's newest version.")
@file_argument
@name_option
@json_option
@connected
def publish(file: Path, name: str, as_json: bool, settings: Settings) -> None:
    """Publish FILE as the newest version of a catalogue. Nothing of a faulty file is published.

    \b
    Example:
      weft catalog publish tools.yaml --name shop
    """
    made = read_catalog(file, name)
    sequence = running(_publish(settings, made))
    if as_json:
        print_json({"name": name, "items": len(made.items), "version": sequence})
    else:
        click.echo(f"catalogue {name!r}: {len(made.items)} items, version {sequence}")


@catalog.command()
@file_argument
@name_option
@json_option
@connected
def diff(file: Path, name: str, as_json: bool, settings: Settings) -> None:
    """Show what publishing FILE would change. Reads the newest version from the log.

    \b
    Example:
      weft catalog diff tools.yaml --name shop
    """
    from weft.router.catalogue_diff import difference

    found = difference(running(_newest(settings, name)).items, read_catalog(file, name).items)
    if as_json:
        print_json(found)
        return
    for mark, ids in (("+", found.added), ("-", found.removed)):
        for item_id in ids:
            click.echo(f"{mark} {item_id}")
    for item_id, fields in found.changed.items():
        click.echo(f"~ {item_id}: {', '.join(fields)}")
    if not found:
        hint("no difference")


@click.command()
@click.option("--file", "-f", type=click.Path(path_type=Path), help="Of a file, not of the log.")
@name_option
@click.option("--format", default="mermaid", type=click.Choice(["mermaid", "json"]))
@connected
def graph(file: Path | None, name: str, format: str, settings: Settings) -> None:
    """Draw the graph of choices that a catalogue is searched through, with the reasons for its
    groups.

    \b
    Examples:
      weft graph --name shop > shop.mmd
      weft graph --file tools.yaml --format json
    """
    from weft.router.graph_drawing import mermaid
    from weft.router.tree_builder import TreeBuilder

    held = read_catalog(file, name) if file else running(_newest(settings, name))
    built = TreeBuilder().build(list(held.items))
    if format == "json":
        print_json(built)
    else:
        click.echo(mermaid(built))
    hint(f"{built.strategy}: {built.reason}")


def read_catalog(file: Path, name: str) -> Catalog:
    """A catalogue from a file. Raises `InvalidInput` with every fault, by tool and field."""
    from weft.router.catalogue import catalogue_from

    try:
        content = file.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{file}: {error.strerror}") from None
    return catalogue_from(name, content, str(file))


async def _publish(settings: Settings, made: Catalog) -> int:
    async with client(settings) as log:
        return (await log.publish_catalog(made)).sequence


async def _newest(settings: Settings, name: str) -> Catalog:
    async with client(settings) as log:
        _, found = await log.catalog(name)
        return found
