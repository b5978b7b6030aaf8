"""What the auditor finds after kills and erasures under load: nothing that is not so."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

from tests.crash.killing import COUNTS, Report, kill
from tests.crash.lives import settled
from tests.crash.test_random_kills import seed
from tests.integration.preloaded import shared_preloaded
from weft.audit.verify import verify
from weft.client import Client
from weft.erasure.session import erase, plan
from weft.log.connection import Connection
from weft.log.transport import connect
from weft.readmodel.generations import Reader
from weft.runtime.settings import Settings
from weft.supervision.up import Up, running
from weft_schemas.errors import NotFound, WeftError
from weft_schemas.items import ContextItem, ItemKind

SESSIONS = 6
ROUNDS = 8
IN_EACH = 20
ERASED = ("s1", "s4")


class Interrupted(Exception):
    """The eraser was ended."""


def items(session: str, first: int) -> list[ContextItem]:
    made = []
    for n in range(first, first + IN_EACH):
        call = {"tool_name": "logs", "call_id": f"call-{n}"}
        made += [
            ContextItem(f"u{n}", ItemKind.USER_TURN, f"My name is Ada. What ails {session} {n}?"),
            ContextItem(f"c{n}", ItemKind.TOOL_CALL, "logs", f"u{n}", metadata=call),
            ContextItem(f"r{n}", ItemKind.TOOL_RESULT, f'{{"id": {n}}}', f"c{n}", metadata=call),
        ]
    return made


async def publish(up: Up, session: str, chance: random.Random) -> None:
    """Until all is acknowledged: what is unknown or refused is published again, and now and then
    what is known, as an agent does that starts anew."""
    async with Client(up.settings) as client:
        for number in range(ROUNDS):
            again = range(2 if chance.random() < 0.2 else 1)
            for _ in again:
                while True:
                    try:
                        await client.publish(session, items(session, number * IN_EACH))
                    except WeftError:
                        await asyncio.sleep(0.2)
                    else:
                        break
            await asyncio.sleep(chance.uniform(0.5, 1.5))


async def erase_in_parts(log: Connection, session: str) -> None:
    """The eraser is ended in the middle, and run again until it has done all."""
    interrupts = 1

    def on_progress(what: str, done: int, total: int) -> None:
        nonlocal interrupts
        if what == "erasing events" and done and interrupts:
            interrupts -= 1
            raise Interrupted

    for _ in range(60):
        try:
            await erase(log, await plan(log, "acme", session), on_progress=on_progress)
        except (Interrupted, NotFound):
            continue
        except WeftError:
            await asyncio.sleep(0.5)
        else:
            return
    raise AssertionError(f"{session} could not be erased")


async def test_after_kills_and_erasures_the_auditor_finds_no_fault(
    tmp_path: Path, tell, monkeypatch
) -> None:
    monkeypatch.setattr("weft.erasure.session.REPLICA_SECONDS", 5.0)
    report, chance = Report(seed()), random.Random()
    chance.seed(report.seed)
    settings = Settings(data_dir=tmp_path, tenant="acme")
    with (tmp_path / "weft.log").open("wb") as log_file:
        async with running(settings, COUNTS, log_file=log_file, preloaded=shared_preloaded()) as up:
            log = await connect(up.settings.nats_url)
            async with asyncio.TaskGroup() as group:
                for number in range(SESSIONS):
                    own = random.Random(f"{report.seed}-{number}")
                    group.create_task(publish(up, f"s{number}", own))
                group.create_task(kill(up, report, chance, 8, 1.0, "", False))
            for session in ERASED:
                await erase_in_parts(log, session)
            with Reader(tmp_path) as reader:
                await settled(log, reader)
            done = await verify(log, tmp_path, settings.encoding)
            await log.close()
    notes = [finding.kind for finding in done.findings if finding.note]
    counted = {kind: notes.count(kind) for kind in sorted(set(notes))}
    tell(f"seed {report.seed}: {report.kills}; notes of the auditor: {counted}")
    assert done.compared
    assert done.faults == []
