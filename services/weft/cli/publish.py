"""`weft publish`: a transcript in any known format becomes a session."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from weft.adapters.formats import FORMATS, Transcript, read_transcripts
from weft.cli.connecting import client, connected, json_option, running, session_option
from weft.cli.output import hint, left_out_in_words, print_json
from weft.runtime.settings import Settings
from weft_schemas.errors import Conflict, Forbidden, InvalidInput, Unavailable
from weft_schemas.items import ContextItem, ItemKind

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from weft.client.confirmation import Confirmation
    from weft.client.outgoing import PublishAck


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
@session_option
@click.option(
    "--format", default="auto", type=click.Choice(["auto", *FORMATS]), help="What the file holds."
)
@click.option("--transcript", type=int, metavar="N", help="Of a file of many, the one to publish.")
@click.option("--each", is_flag=True, help="Of a file of many, all: to SESSION-0, SESSION-1, …")
@click.option("--close", is_flag=True, help="Close the session afterwards.")
@click.option(
    "--confirm", is_flag=True, help="Wait until folded; name items whose id other content holds."
)
@json_option
@connected
def publish(
    file: str,
    session: str,
    format: str,
    transcript: int | None,
    each: bool,
    close: bool,
    confirm: bool,
    as_json: bool,
    settings: Settings,
) -> None:
    """Publish FILE (`-` for stdin) as the items of a session.

    Chats of OpenAI and Anthropic (messages, or whole requests), OpenHands event streams,
    contextweaver's and weft's own JSON lines are recognised. Publishing the same file again changes
    no prompt; if the file grew, only the new items are added. More than two minutes later, the
    server's duplicate window, the old items are stored once more, and workers handle them again.
    Nothing of a malformed file is published. An item never replaces other content with the same id:
    with --confirm it is named every time, and the exit code is 6. Nothing is published to an erased
    session; the exit code is then 6, too. Images, recordings and files are left out, except the
    text of text files: each is replaced by a placeholder with type, size and a handle, and they are
    counted.

    \b
    Examples:
      weft publish chat.json --session s1
      my-agent --log-jsonl | weft publish - --session s1 --format weft
      weft publish runs.json --session run --each --confirm
    """
    if each and transcript is not None:
        raise click.UsageError("--each publishes all, and --transcript one; give one of them")
    found = read_transcripts(_content(file), format, file)
    chosen = _chosen(found, session, transcript, each, file)
    if not any(one.items for _, one in chosen):
        raise InvalidInput(f"{file}: nobody says or does anything in it; nothing was published")
    done = running(_publish(settings, chosen, close, confirm, quiet=as_json))
    published = [(*acked, one) for acked, (_, one) in zip(done, chosen, strict=True)]
    if as_json:
        shown = [_report(*one) for one in published]
        print_json(shown if each else shown[0])
    else:
        for one in published:
            _print(*one)
    _check_stored(done)


def _check_stored(done: Sequence[tuple[PublishAck, Confirmation | None]]) -> None:
    """Raises `Conflict` if other content stands under the id of an item."""
    lost = sum(len(confirmed.conflicts) for _, confirmed in done if confirmed)
    if lost:
        raise Conflict(
            f"{lost} of the items {'is' if lost == 1 else 'are'} not stored, since other content "
            "was published under the same id before; publish under another id, or leave it out"
        )


def _print(ack: PublishAck, confirmed: Confirmation | None, read: Transcript) -> None:
    duplicates = len(confirmed.duplicates) if confirmed else ack.duplicates
    known = f", {duplicates} of them known before" if duplicates else ""
    items = f"{ack.count} item{'' if ack.count == 1 else 's'}"
    click.echo(f"{ack.session}: {items}{known}, up to sequence {ack.sequence}")
    if read.left_out:
        click.echo(f"{ack.session}: {left_out_in_words(read.left_out)}")
    lone = results_without_call(read.items)
    if lone:
        what = f"{len(lone)} results answer" if len(lone) > 1 else "1 result answers"
        hint(
            f"{ack.session}: {what} no call of this file (the first is item {lone[0]!r}): unless "
            "the session has it, prompts show the result without its call; give the result the "
            "parent_id or the call_id of its call"
        )
    for one in confirmed.conflicts if confirmed else ():
        hint(
            f"{ack.session}: conflict: item {one.item_id!r} is not stored: its id belongs to other "
            f"content, at sequence {one.first_sequence}, which stays"
        )


def results_without_call(items: Sequence[ContextItem]) -> list[str]:
    """Ids of the results that no call among these items belongs to, by `parent_id` or `call_id`."""
    calls = [one for one in items if one.kind is ItemKind.TOOL_CALL]
    ids = {one.id for one in calls}
    named = {one.reserved.call_id for one in calls if one.reserved.call_id}
    return [
        one.id
        for one in items
        if one.kind is ItemKind.TOOL_RESULT
        and one.parent_id not in ids
        and one.reserved.call_id not in named
        and one.reserved.slice_of is None
    ]


def _content(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError as error:
        raise InvalidInput(f"{file}: {error.strerror}; nothing was published") from None


def _chosen(
    found: Sequence[Transcript], session: str, number: int | None, each: bool, file: str
) -> list[tuple[str, Transcript]]:
    if each:
        return [(f"{session}-{at}", one) for at, one in enumerate(found)]
    if number is None and len(found) == 1:
        number = 0
    if number is None:
        raise InvalidInput(
            f"{file}: holds {len(found)} transcripts; choose one with --transcript 0 to "
            f"{len(found) - 1}, or publish all with --each"
        )
    if not 0 <= number < len(found):
        raise InvalidInput(f"--transcript {number}: {file} holds 0 to {len(found) - 1}")
    return [(session, found[number])]


async def _publish(
    settings: Settings,
    sessions: list[tuple[str, Transcript]],
    close: bool,
    confirm: bool,
    quiet: bool,
) -> list[tuple[PublishAck, Confirmation | None]]:
    """The acks, each with its confirmation if one is requested."""
    from rich.console import Console
    from rich.progress import Progress

    from weft.cli.progress import showing

    console = Console(stderr=True)
    quiet = quiet or not console.is_terminal
    total = sum(len(one.items) for _, one in sessions)
    done = []
    async with client(settings) as log:
        with showing(Progress(console=console, transient=True, disable=quiet)) as progress:
            task = progress.add_task("publishing", total=total)
            for session, _ in sessions:
                # Without a service nobody can tell, and publishing needs none; one of an older
                # release does not know the question.
                with contextlib.suppress(Unavailable, Forbidden, InvalidInput):
                    await log.check_not_erased(session)
            for session, one in sessions:
                ack = await log.publish(session, _counted(one.items, progress, task))
                if close:
                    await log.close_session(session)
                done.append((ack, await log.confirm(session, ack) if confirm else None))
    return done


async def _counted(
    items: Sequence[ContextItem], progress: Progress, task: TaskID
) -> AsyncIterator[ContextItem]:
    """The items one by one (all were checked when the file was read), moving the bar."""
    for item in items:
        yield item
        progress.advance(task)


def _report(ack: PublishAck, confirmed: Confirmation | None, read: Transcript) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.to_builtins(ack)
    shown = {name: value for name, value in shown.items() if name not in ("ids", "digests")}
    shown["left_out"] = read.left_out
    return {**shown, "confirmed": confirmed} if confirmed else shown
