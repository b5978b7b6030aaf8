"""`weft config show`: the settings in force, secrets masked."""

from __future__ import annotations

import click

from weft.cli.connecting import connected, json_option
from weft.cli.output import print_json, table
from weft.runtime.settings import Settings


@click.group()
def config() -> None:
    """The settings of this environment."""


@config.command(short_help="Every setting and the variable that sets it.")
@json_option
@connected
def show(as_json: bool, settings: Settings) -> None:
    """Show every setting and the variable that sets it; secrets are masked.

    \b
    Example:
      WEFT_TENANT=acme weft config show
    """
    shown = settings.shown()
    if as_json:
        print_json(shown)
    else:
        table("", ["variable", "value"], [[name, value] for name, value in shown.items()])
