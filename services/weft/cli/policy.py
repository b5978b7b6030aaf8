"""`weft policy`: context policies as files, published as events of the tenant."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click
import msgspec

from weft.cli.compiling import as_of_option, sequence_of
from weft.cli.connecting import client, connected, json_option, running
from weft.cli.output import hint, print_json
from weft.client.policy_check import check_hook
from weft.runtime.settings import Settings
from weft_schemas.combined_policy import overruled
from weft_schemas.errors import InvalidInput, WeftError
from weft_schemas.faults import with_valid_values
from weft_schemas.policy import ContextPolicy

if TYPE_CHECKING:
    from weft.client import Client


@click.group()
def policy() -> None:
    """Policies: budgets, kinds per phase, sensitivity floor, firewall rules, memory caps."""


@policy.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--hook-elsewhere", is_flag=True,
              help="Its redaction hook is installed where compiles run, not here.")  # fmt: skip
@json_option
@connected
def publish(file: Path, hook_elsewhere: bool, as_json: bool, settings: Settings) -> None:
    """Put the policy in FILE (JSON or YAML) in force.

    It applies to the tenant, or to the session that it names; fields that it leaves out have
    their defaults. What the tenant's policy conceals stays concealed in a session with a policy
    of its own: fields that the tenant's overrules are named on stderr, and so are the names
    whose values it lets through (firewall.harmless_names). Compiles use it from its sequence
    on; earlier compiles stay reproducible.

    A redaction hook that is not installed here is refused, since every compile that needs it
    would fail; --hook-elsewhere says that it is installed where compiles run.

    \b
    Example:
      printf 'name: strict\\nsensitivity_floor: internal\\n' > strict.yaml
      weft policy publish strict.yaml
    """
    made = read_policy(file)
    if not hook_elsewhere:
        check_hook(made.redaction_hook, str(file), "--hook-elsewhere")
    sequence, stricter = running(_publish(settings, made))
    if stricter:
        hint(
            f"the tenant's policy is stricter in {', '.join(stricter)}: there it holds for the "
            f"session, too; see weft policy show --session {made.session}"
        )
    if made.firewall.harmless_names:
        hint(
            f"not masked because of their names: {', '.join(made.firewall.harmless_names)} "
            "(firewall.harmless_names)"
        )
    if as_json:
        print_json({"name": made.name, "session": made.session, "sequence": sequence})
    else:
        whom = f"session {made.session}" if made.session else f"tenant {settings.tenant}"
        click.echo(f"policy {made.name!r} is in force for {whom} from sequence {sequence}")


@policy.command(short_help="The policy in force, or a file's, in full.")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--session", "-s", metavar="ID", help="The session's; it may have one of its own.")
@as_of_option
@json_option
@connected
def show(
    file: Path | None, session: str | None, as_of: str | None, as_json: bool, settings: Settings
) -> None:
    """Show the policy in force, or FILE's, with every default filled in, as JSON.

    The policy goes to stdout, so that it can be changed and published; its origin goes to
    stderr. With --json both are in one document.

    \b
    Examples:
      weft policy show > policy.json
      weft policy show --session s1 --as-of 120
      weft policy show strict.yaml
    """
    if file is not None:
        if session or as_of:
            raise click.UsageError("give FILE, or --session and --as-of, not both")
        print_json(read_policy(file))
        return
    sequence, found, begins = running(_in_force(settings, session, as_of))
    source = "session" if found.session else "tenant" if sequence else "default"
    if as_json:
        print_json({"from": source, "sequence": sequence, "policy": found})
        return
    print_json(found)
    whom = f"session {found.session}" if found.session else f"tenant {settings.tenant}"
    if sequence:
        hint(f"policy {found.name!r} of {whom}, in force from sequence {sequence}")
    else:
        hint(f"no policy of {whom} is in the log: the default is in force{left_by_age(begins)}")


@policy.command(short_help="A list of known secrets for a policy.")
@click.argument("file", type=click.File("rb"), default="-")
def known(file: BinaryIO) -> None:
    """Make `firewall.known_secrets` of the secrets in FILE or stdin, one per line.

    It holds their lengths and keyed hashes, never the values. Each secret is masked in every
    item from the policy's sequence on, even if it is split across fields.

    \b
    Example:
      weft policy known < secrets.txt > known.json
    """
    from weft.secrets.known_values import known_secrets

    try:
        values = [line.decode() for line in file.read().splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise InvalidInput("the list of secrets is no UTF-8; give one secret a line") from None
    print_json({"firewall": {"known_secrets": known_secrets(secrets.token_bytes(16), values)}})


def read_policy(file: Path) -> ContextPolicy:
    """A policy from a JSON or YAML file. Raises `InvalidInput` with file and field."""
    value = content_of(file)
    if isinstance(value, dict):
        value = {"type": "context_policy", **value}
    try:
        made = msgspec.convert(value, ContextPolicy)
    except msgspec.ValidationError as error:
        fault = with_valid_values(error, ContextPolicy)
        raise InvalidInput(f"{file}: {fault}; see schemas/jsonschema/context_policy.json") from None
    if made.firewall.secret_patterns:
        from weft.secrets.deployment_rules import check_patterns

        check_patterns(made.firewall, str(file))
    return made


def content_of(file: Path) -> Any:
    """The value in a JSON or YAML file. Raises `InvalidInput` that names the file."""
    from weft.json_or_yaml import parsed

    try:
        return parsed(file.read_bytes(), str(file))
    except OSError as error:
        raise InvalidInput(f"{file}: {error.strerror}") from None


async def _publish(settings: Settings, made: ContextPolicy) -> tuple[int, tuple[str, ...]]:
    """Its sequence, and the fields that the tenant's policy overrules, if that may be read."""
    async with client(settings) as log:
        ack = await log.publish_policy(made, hook_elsewhere=True)  # checked by the file's name
        sequence: int = ack.sequence
        if made.session is None:
            return sequence, ()
        try:
            version, tenants = await log.policy()
        except WeftError:
            return sequence, ()
        return sequence, overruled(made, tenants) if version else ()


async def _in_force(
    settings: Settings, session: str | None, as_of: str | None
) -> tuple[int, ContextPolicy, int]:
    async with client(settings) as log:
        sequence, found = await log.policy(session, as_of=await sequence_of(log, as_of))
        return sequence, found, await begins_by_age(log)


async def begins_by_age(log: Client) -> int:
    """Where the log begins if older events left it by age; 0 if none did, or if that cannot be
    seen."""
    from weft.log.deletions import aged_before

    try:
        return await aged_before(log.connection)
    except WeftError:
        return 0


def left_by_age(begins: int) -> str:
    """What to add where nothing of a kind is in the log."""
    if not begins:
        return ""
    return (
        f". The log begins at event {begins} by age (WEFT_MAX_AGE_DAYS): what was published before "
        "may have left it. `weft doctor` tells what a read model knows of it; publish it again"
    )
