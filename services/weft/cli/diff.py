"""`weft diff`: two compiles of a session, and why they differ."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from weft.cli.connecting import client, connected, json_option, running
from weft.cli.output import hint, print_json, table
from weft.runtime.settings import Settings
from weft_schemas.errors import InvalidInput
from weft_schemas.policy import Phase

if TYPE_CHECKING:
    from weft.audit.difference import CompileSummary, Difference

T = TypeVar("T")


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID [ID]]")
@click.option("--session", "-s", metavar="ID", help="Instead of a recorded compile.")
@click.option("--phase", "-p", type=click.Choice([str(phase) for phase in Phase]))
@click.option("--query", "-q", default="", help="With --session.")
@click.option("--budget", type=int, metavar="TOKENS", help="With --session.")
@click.option("--as-of", "places", multiple=True, metavar="SEQ|TIME",
              help="The world at this sequence or time; twice for both sides.")  # fmt: skip
@click.option("--policy", "policies", type=click.Path(path_type=Path), multiple=True,
              metavar="FILE", help="Another policy; twice for both sides.")  # fmt: skip
@json_option
@connected
def diff(ids: tuple[str, ...], as_json: bool, settings: Settings, **options: Any) -> None:
    """Show how the second of two compiles differs from the first, and why.

    Give two recorded compiles, or one and what to change, or a session and two sequences or
    policies. Both are selected by this release over a fresh read model; nothing is recorded.
    Needs a credential that may read the log.

    \b
    Examples:
      weft diff 3f0c9a1be27d44c0a1f2 77aa01d5c3de0b6e9f21
      weft diff 3f0c9a1be27d44c0a1f2 --policy strict.yaml
      weft diff --session s1 --phase answer --as-of 120 --as-of 180
      weft diff --session s1 --phase call --policy a.yaml --policy b.yaml --json
    """
    found = running(_compared(settings, ids, **options))
    if as_json:
        print_json(found)
        return
    columns = ["", "sequence", "policy", "tokens", "items", "dropped"]
    table("", columns, [_row("first", found.before), _row("second", found.after)])
    hint(f"\n{found.same} blocks are the same")
    for note in found.notes:
        hint(f"note: {note}")
    if found.changes:
        rows = [[one.change, one.item_id, one.before, one.after, one.why] for one in found.changes]
        table("", ["", "item", "first", "second", "why"], rows)


def _row(name: str, side: CompileSummary) -> list[Any]:
    dropped = ", ".join(f"{count} {reason}" for reason, count in side.dropped.items())
    return [
        name, side.sequence, side.policy_version, side.prompt_tokens, side.included, dropped or "-"
    ]  # fmt: skip


async def _compared(
    settings: Settings,
    ids: tuple[str, ...],
    session: str | None,
    phase: str | None,
    query: str,
    budget: int | None,
    places: tuple[str, ...],
    policies: tuple[Path, ...],
) -> Difference:
    import msgspec

    from weft.audit.difference_from_log import CompileInput, compare, logged_input
    from weft.cli.compiling import sequence_of
    from weft.cli.policy import read_policy
    from weft_schemas.compile import CompileRequest

    _check(ids, session, phase, places, policies)
    read = [read_policy(file) for file in policies]
    async with client(settings) as log:
        sides = [await logged_input(log.connection, settings.tenant, one) for one in ids]
        if session is not None and phase is not None:
            request = CompileRequest(Phase(phase), query=query, budget=budget)
            sides = [CompileInput(session, request, encoding=settings.encoding)]
        sides = [sides[0], sides[-1]]
        for at, place in _spread(places):
            sequence = await sequence_of(log, place)
            sides[at] = msgspec.structs.replace(sides[at], sequence=sequence)
        for at, policy in _spread(read):
            request = msgspec.structs.replace(sides[at].request, policy=policy)
            sides[at] = msgspec.structs.replace(sides[at], request=request)
        key = settings.fingerprint_key.encode()
        return await compare(log.connection, settings.tenant, sides[0], sides[1], key)


def _spread(values: Sequence[T]) -> list[tuple[int, T]]:
    """One value is for the second side; two are for one side each."""
    return [(1, values[0])] if len(values) == 1 else list(enumerate(values))


def _check(
    ids: tuple[str, ...],
    session: str | None,
    phase: str | None,
    places: tuple[str, ...],
    policies: tuple[Path, ...],
) -> None:
    if bool(ids) == (session is not None) or len(ids) > 2:
        raise InvalidInput("name one or two recorded compiles, or a --session with its --phase")
    if session is not None and phase is None:
        raise InvalidInput("--session needs the --phase to compile for")
    if len(places) > 2 or len(policies) > 2:
        raise InvalidInput("--as-of and --policy stand at most twice, once for each side")
    if len(ids) < 2 and not places and not policies:
        raise InvalidInput("nothing differs: give a second compile, --as-of or --policy")
