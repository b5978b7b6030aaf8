"""`weft reproduce`: a past prompt, rendered again from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from weft.cli.compiling import Format, chosen_format, format_option
from weft.cli.connecting import client, connected, running
from weft.cli.output import hint, print_json
from weft.runtime.settings import Settings

if TYPE_CHECKING:
    from weft.audit.reproduce import Reproduction


@click.command()
@click.argument("compile_id")
@format_option("The prompt; all that is known of it; messages as a provider got them.")
@connected
@click.pass_context
def reproduce(
    ctx: click.Context, compile_id: str, format: Format, as_json: bool, settings: Settings
) -> None:
    """Render the prompt of COMPILE_ID again from the log, and say whether it is the same.

    No stored prompt is read. A fresh read model is folded from the log up to the sequence that
    the compile read, its manifest is rendered from that read model, and the digests are
    compared. With the same release the selection also runs again. The prompt goes to stdout,
    the verdict to stderr; if the prompt differs, the exit code is 1 and the reason is given.
    With --format openai or anthropic it is printed as the messages that `compile` gave then.
    Needs a credential that may read the log, and the compiler's WEFT_FINGERPRINT_KEY.

    \b
    Examples:
      weft reproduce 3f0c9a1be27d44c0a1f2
      weft reproduce 3f0c9a1be27d44c0a1f2 --json | jq .reasons
      weft reproduce 3f0c9a1be27d44c0a1f2 --format openai > request.json
    """
    format = chosen_format(format, as_json)
    done = running(_reproduced(settings, compile_id))
    if format == "json":
        print_json(done)
    else:
        if format == "text":
            click.echo(done.prompt)
        elif done.entries or done.no_message:
            print_json(done.request(format))
        _tell(done)
        if format != "text" and done.entries and done.selection != "same":
            hint("the messages are as this release makes them of these blocks")
    ctx.exit(0 if done.identical else 1)


async def _reproduced(settings: Settings, compile_id: str) -> Reproduction:
    async with client(settings) as log:
        return await log.reproduce(compile_id)


def _tell(done: Reproduction) -> None:
    verdict = "byte for byte the same" if done.identical else "NOT the same"
    hint(f"\n{done.id} of session {done.session} at sequence {done.sequence}: {verdict}")
    for reason in done.reasons:
        hint(f"  {reason}")
    hint(f"selection run again: {done.selection}")
    for reason in done.selection_reasons:
        hint(f"  {reason}")
