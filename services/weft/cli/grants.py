"""`weft grants`: whose memory each principal of a tenant may read and write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from weft.cli.connecting import client, connected, json_option, running
from weft.cli.output import hint, print_json
from weft.cli.policy import begins_by_age, content_of, left_by_age
from weft.runtime.settings import Settings
from weft_schemas.errors import InvalidInput

if TYPE_CHECKING:
    from weft_schemas.grants import ScopeGrants


@click.group()
def grants() -> None:
    """Scopes: whose memory each principal of the tenant may read and write."""


@grants.command()
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@connected
def publish(file: Path, as_json: bool, settings: Settings) -> None:
    """Put the grants in FILE (JSON or YAML) in force. They replace all earlier grants.

    A principal is the name that permissions put into the subjects of a credential; an empty
    principal means a credential without one. A scope may end in `*`, which matches any rest,
    and `{principal}` stands for the principal's name. Without grants, a credential without a
    principal may use every scope.

    \b
    Example:
      printf 'grants:
      - {principal: "", scopes: ["user:*"]}
      - {principal: "*", scopes: ["user:{principal}"]}
      ' > grants.yaml
      weft grants publish grants.yaml
    """
    made = read_grants(file)
    sequence = running(_publish(settings, made))
    if as_json:
        print_json({"sequence": sequence, "grants": made.grants})
    else:
        count = len(made.grants)
        click.echo(f"{count} grants are in force for {settings.tenant} from sequence {sequence}")


@grants.command()
@json_option
@connected
def show(as_json: bool, settings: Settings) -> None:
    """Show the grants in force, as JSON that can be changed and published.

    \b
    Example:
      weft grants show > grants.json
    """
    sequence, found, begins = running(_in_force(settings))
    if as_json:
        print_json({"sequence": sequence, "grants": found})
        return
    if found is None:
        none = f"tenant {settings.tenant} has no grants: who has no principal may use every scope"
        hint(f"{none}{left_by_age(begins)}")
        return
    print_json(found)
    hint(f"grants of tenant {settings.tenant}, in force from sequence {sequence}")


def read_grants(file: Path) -> ScopeGrants:
    """Grants from a JSON or YAML file. Raises `InvalidInput` with file and field."""
    from weft_schemas.grants import ScopeGrants

    value = content_of(file)
    if isinstance(value, dict):
        value = {"type": "scope_grants", **value}
    try:
        return msgspec.convert(value, ScopeGrants)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{file}: {error}; see schemas/jsonschema/scope_grants.json") from None


async def _publish(settings: Settings, made: ScopeGrants) -> int:
    async with client(settings) as log:
        sequence: int = (await log.publish_grants(made)).sequence
        return sequence


async def _in_force(settings: Settings) -> tuple[int, ScopeGrants | None, int]:
    async with client(settings) as log:
        return *(await log.grants()), await begins_by_age(log)
