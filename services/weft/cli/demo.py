"""`weft demo`: sends the recorded session through every service, kills a worker, and replays the
log.

Each chapter really does what its heading says and prints the outcome; a check that fails ends the
demo with exit code 1.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.connecting import running
from weft.cli.output import table
from weft_schemas.errors import Unavailable, WeftError
from weft_schemas.events import EnvelopeEvent
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

if TYPE_CHECKING:
    from weft.client import Client
    from weft.client.pack import Pack
    from weft.supervision.up import Up

QUESTIONS = {
    Phase.ROUTE: "find the largest order of the day and its country",
    Phase.CALL: "largest paid order of 2026-11-14",
    Phase.INTERPRET: "which order is the largest",
    Phase.ANSWER: "Which order is the largest of them, and in which country was it placed?",
}
TOOLS = (
    {"name": "run", "description": "Run a command in the project's folder."},
    {"name": "read_file", "description": "Read a file of the project."},
    {"name": "http_get", "description": "GET a URL of the shop's API."},
)
BUDGET = 700
"""In tokens: small enough that the prompts fit on a screen and something must be dropped."""
COPIES = 12
"""How many sessions are published while a worker is killed; about 850 items."""
SETTLE_SECONDS = 60.0
_POLL_SECONDS = 0.1


@click.command()
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR",
              help="Keep the data here; without it a temporary folder is used.")  # fmt: skip
def demo(data: Path | None) -> None:
    """Run a recorded agent session through every service, on an embedded server of its own.

    Shows the lag during processing and the four phases' prompts, with what was kept and dropped and
    why. Then kills a worker under load and rebuilds the read model by replay. The recorded session
    is in a checkout only, not in an installed weft.
    """
    from weft.cli.demo_session import load

    load()  # before anything is started
    if data is not None:
        data.mkdir(parents=True, exist_ok=True)
        running(_demo(data), talks=True)
        return
    with tempfile.TemporaryDirectory(prefix="weft-demo-") as folder:
        running(_demo(Path(folder)), talks=True)


async def _demo(data: Path) -> None:
    started = time.monotonic()
    async with _everything(data) as (up, client):
        items = await _publish(client)
        await _compile(client)
        await _look_behind(client, items)
        await _kill_a_worker(up, client, items)
        await _rebuild(up, client)
        _say("stopping: the services finish what they began")
    _say(f"all stopped, nothing is left running; the demo took {time.monotonic() - started:.0f} s")


@asynccontextmanager
async def _everything(data: Path) -> AsyncIterator[tuple[Up, Client]]:
    """All services on a fresh log, and a client."""
    from weft.client import Client
    from weft.client.readiness import answers
    from weft.runtime.settings import Settings
    from weft.supervision.up import EVERYTHING
    from weft.supervision.up import running as everything

    _chapter("A log and its services, each a process")
    with (data / "weft.log").open("ab") as log_file:
        counts = {**EVERYTHING, "firewall": 2}
        async with everything(Settings(data_dir=data), counts, log_file=log_file) as up:
            _say(f"nats-server at {up.settings.nats_url}, data in {data}")
            async with Client(up.settings) as client:
                await _until("the services answer", lambda: answers(client))
                for state in up.supervisor.states():
                    _say(f"  {state.name:<14} process {state.pid}")
                yield up, client


async def _publish(client: Client) -> list[ContextItem]:
    from weft.cli.demo_session import SESSION, load

    _chapter("An agent's session goes into the log")
    items = load()
    largest = max(items, key=lambda item: len(item.text))
    _say(
        f"{len(items)} items, {sum(len(item.text) for item in items):,} characters; the largest is "
        f"the result {largest.id} with {len(largest.text):,}"
    )
    ack = await client.publish(SESSION, items)
    _say(f"acknowledged up to sequence {ack.sequence}; now the workers:")
    folding = _Folding(client, SESSION, ack.sequence)
    await _until("the session is settled", folding.is_settled)
    again = await client.publish(SESSION, items)
    confirmed = await client.confirm(SESSION, again)
    _say(f"published once more: {confirmed.stored} new, {len(confirmed.conflicts)} conflicts")
    return items


class _Folding:
    """What is folded of a session, or of all: a line for each change of it."""

    def __init__(self, client: Client, session: str | None, sequence: int) -> None:
        self._client = client
        self._session = session
        self._sequence = sequence
        self._last_line = ""

    async def is_settled(self) -> bool:
        """Whether everything up to the sequence is folded and every result has its envelope."""
        now = await self._client.status(self._session)
        self._show(now.sequence, now.items, now.pending)
        return bool(now.sequence >= self._sequence and now.pending == 0)

    def _show(self, sequence: int, items: int, pending: int) -> None:
        line = (
            f"  folded up to {sequence:>6}: {items:>5} items, {pending:>4} results without an "
            "envelope"
        )
        if line != self._last_line:
            _say(line)
        self._last_line = line


async def _compile(client: Client) -> None:
    from weft.cli.demo_session import SESSION, demo_key

    for phase in Phase:
        _chapter(f"Phase {phase}: at most {BUDGET} tokens")
        tools = TOOLS if phase is Phase.ROUTE else ()
        pack = await client.compile(
            SESSION, phase, query=QUESTIONS[phase], budget=BUDGET, tools=tools
        )
        click.echo(pack.prompt)
        _show_stats(pack)
        _check("the prompt is within the budget", pack.stats.prompt_tokens <= BUDGET)
        _check("the key that a tool printed is masked", demo_key() not in pack.prompt)


def _show_stats(pack: Pack) -> None:
    stats = pack.stats
    table(
        f"\nBuildStats of {pack.id}",
        ["tokens", "budget", "candidates", "included", "dropped", "duplicates", "pulled in"],
        [
            [
                stats.prompt_tokens,
                stats.budget,
                stats.total_candidates,
                stats.included_count,
                stats.dropped_count,
                stats.deduplicated_count,
                stats.dependency_closures,
            ]
        ],
    )
    sections = [["tokens", name, count, ""] for name, count in stats.tokens_per_section.items()]
    table("", ["", "", "count", "items"], [*sections, *_dropped(stats.dropped_items)])
    _check(
        "included + dropped == candidates",
        stats.included_count + stats.dropped_count == stats.total_candidates,
    )


def _dropped(drops: Sequence[Any]) -> list[list[Any]]:
    shown = 8
    reasons = sorted({drop.reason for drop in drops})
    rows = []
    for reason in reasons:
        ids = [drop.item_id for drop in drops if drop.reason == reason]
        more = f" and {len(ids) - shown} more" if len(ids) > shown else ""
        rows.append(["dropped", reason, len(ids), ", ".join(ids[:shown]) + more])
    return rows


async def _look_behind(client: Client, items: Sequence[ContextItem]) -> None:
    from weft.cli.demo_session import SESSION

    _chapter("Behind a summary: a drill-down into the raw result")
    largest = max(items, key=lambda item: len(item.text))
    pack = await client.compile(SESSION, "interpret", budget=8_000, pin=[largest.id])
    handle = next(one.handle for one in pack.entries if one.item_id == largest.id and one.handle)
    found = await client.drilldown(handle, "search", pattern="O-20614", context=0, max_tokens=120)
    _say(f"weft drilldown {handle} --view search -a pattern=O-20614")
    click.echo(found.text)
    _say(f"{found.tokens} of the result's tokens; other views: {', '.join(found.views)}")


async def _kill_a_worker(up: Up, client: Client, items: Sequence[ContextItem]) -> None:
    _chapter("A firewall process is killed under load")
    sessions = [f"copy-{number}" for number in range(COPIES)]
    publishing = asyncio.gather(*(client.publish(session, items) for session in sessions))
    await asyncio.sleep(0.3)
    up.supervisor.kill("firewall-1")
    _say("SIGKILL to firewall-1; the other one takes over what it held, and it is restarted")
    last = max(ack.sequence for ack in await publishing)

    folding = _Folding(client, None, last)
    await _until("all results have their envelopes", folding.is_settled, pause=1.0)
    results = sum(item.kind is ItemKind.TOOL_RESULT for item in items)
    for session in sessions:
        await _check_envelopes(client, session, len(items), results)
    _say(
        f"{COPIES * len(items)} items acknowledged and folded once each, "
        f"{COPIES * results} results with exactly one envelope each"
    )


async def _check_envelopes(client: Client, session: str, items: int, results: int) -> None:
    now = await client.status(session)
    _check(f"{session}: every acknowledged item is there once", now.items == items)
    events = [record.event() async for record in client.events(session)]
    enveloped = {event.origin.sequence for event in events if isinstance(event, EnvelopeEvent)}
    claim = f"{session}: one envelope for each of {results} results, found {len(enveloped)}"
    _check(claim, len(enveloped) == results)


async def _rebuild(up: Up, client: Client) -> None:
    from weft.indexer.rebuild import rebuild

    _chapter("The read model is built again by replaying the log")
    settings = up.settings
    built = await rebuild(client.connection, settings.data_dir, settings.encoding)
    _say(f"{built.sequence:,} events replayed in {built.seconds:.1f} s beside the live read model")
    _say(f"  digest live      {built.replaced}")
    _say(f"  digest replayed  {built.digest}")
    _check("the replayed read model equals the live one", built.equal and built.replaced != "")


async def _until(what: str, done: Callable[[], Any], pause: float = _POLL_SECONDS) -> None:
    deadline = time.monotonic() + SETTLE_SECONDS
    while not await done():
        if time.monotonic() > deadline:
            raise Unavailable(f"{what}: not within {SETTLE_SECONDS:.0f} s; read weft.log")
        await asyncio.sleep(pause)


def _chapter(title: str) -> None:
    click.secho(f"\n── {title} " + "─" * max(3, 76 - len(title)), bold=True)


def _say(line: str) -> None:
    click.echo(line)


def _check(claim: str, holds: bool) -> None:
    if not holds:
        raise WeftError(f"the demo's check failed: {claim}; read weft.log in its data folder")
