"""`weft events`: a session's events as they are in the log."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from weft.cli.connecting import client, connected, running, session_option
from weft.cli.output import print_json_line
from weft.runtime.settings import Settings
from weft_schemas.errors import InvalidInput
from weft_schemas.events import EnvelopeEvent, FactsEvent
from weft_schemas.items import ContextItem
from weft_schemas.subjects import event_of

if TYPE_CHECKING:
    from weft.log.record import LogRecord
    from weft_schemas.events import Event

_SHOWN = 100
"""How many characters of an event one line shows."""


@click.command()
@session_option
@click.option("--from", "first", type=int, default=1, metavar="SEQ", help="First sequence.")
@click.option("--follow", "-f", is_flag=True, help="Go on with new ones, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line on stdout.")
@connected
def events(session: str, first: int, follow: bool, as_json: bool, settings: Settings) -> None:
    """Show a session's events: what agents published and what workers derived.

    With --json, one JSON object per line. Raw results are shown as published; anyone who may read
    the log may read them.

    \b
    Examples:
      weft events --session s1
      weft events --session s1 --from 120 --follow --json | jq -c .event
    """
    running(_show(settings, session, first, follow, as_json), talks=True)


async def _show(settings: Settings, session: str, first: int, follow: bool, as_json: bool) -> None:
    """Raises `NotFound` if there are none."""
    from weft.client.absent_sessions import no_events

    count = 0
    async with client(settings) as log:
        async for record in log.events(session, first=first, follow=follow):
            count += 1
            if as_json:
                print_json_line(_document(record))
            else:
                click.echo(_line(record))
        if not count:
            raise await no_events(log.connection, settings.tenant, session, first)


def _document(record: LogRecord) -> dict[str, Any]:
    import msgspec

    try:
        event = msgspec.json.decode(record.payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        event = None
    return {
        "sequence": record.sequence,
        "published": _time(record),
        "subject": record.subject,
        "message_id": record.message_id,
        "event": event,
    }


def _line(record: LogRecord) -> str:
    when = _time(record)[11:23]
    try:
        event = record.event()
    except InvalidInput as error:
        return f"{record.sequence:>8}  {when}  unreadable    {error}"
    kind = event_of(record.subject)
    return f"{record.sequence:>8}  {when}  {kind:<13} {_gist(event)}"


def _gist(event: Event) -> str:
    """An event as one line: an item by id and text, a derived event by its source."""
    if isinstance(event, ContextItem):
        text = event.text or (f"[body of {event.body.size:,} bytes]" if event.body else "")
        return f"{_flat(event.id)[:24]}: {_flat(text)}"[:_SHOWN]
    origin = getattr(event, "origin", None)
    source = f"of {origin.sequence} " if origin is not None else ""
    text = _of_envelope(event) if isinstance(event, EnvelopeEvent) else getattr(event, "text", "")
    return f"{source}{_flat(text or _described(event))}"[:_SHOWN]


def _of_envelope(event: EnvelopeEvent) -> str:
    """`application/json, 61,003 tokens: …`; what is no success says so first."""
    made = event.envelope
    status = "" if made.status == "success" else f"{made.status.value}, "
    return f"{status}{made.content_type}, {made.raw_tokens:,} tokens: {made.summary}"


def _described(event: Event) -> str:
    """An event without a text of its own: its facts, otherwise its fields as JSON."""
    import msgspec

    if isinstance(event, FactsEvent):
        return "; ".join(f"{fact.key}={fact.value}" for fact in event.facts) or "no facts"
    fields = {name: value for name, value in msgspec.to_builtins(event).items() if name != "origin"}
    return msgspec.json.encode(fields).decode()


def _flat(text: str) -> str:
    return "".join(mark if mark.isprintable() else " " for mark in text)


def _time(record: LogRecord) -> str:
    seconds, rest = divmod(record.published_ns, 1_000_000_000)
    whole = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{rest // 1_000_000:03}Z"
