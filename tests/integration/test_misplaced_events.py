"""Events on subjects that no client of weft makes: parked with a reason, and in nobody's way."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from tests.integration.command_line import weft
from tests.integration.logged import publish, publish_raw, result, until_finished
from tests.integration.test_worker_services import working

from weft.audit.verify import verify
from weft.copies.exporting import export
from weft.copies.importing import import_
from weft.dead_letters.reviving import dead_letters
from weft.log.connection import Connection
from weft.log.reading import read_matching
from weft.log.topology import provision
from weft.log.transport import connect
from weft.readmodel.model import ReadModel
from weft.readmodel.status import status
from weft.rederive.run import rederive
from weft.runtime.settings import Settings
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.events import encode_event
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.status import StatusRequest
from weft_schemas.subjects import UNREADABLE

SUBJECTS = {
    "weft.acme.user.42.in.user_turn": "user",
    "weft.acme.user.42.in.agent_msg": "user",
    "weft.acme.s1.in.user_turn.alice.extra": "s1",
    "weft.acme.s1.in.user_turn.b@d": "s1",
    "weft.acme.s1.in.agent_msg.b@d": "s1",
    "weft.acme.a@b.in.user_turn": "@unreadable",
}
TURN = encode_event(ContextItem("u", ItemKind.USER_TURN, "Which invoice is open?"))


async def misplaced(log: Connection, subject: str) -> int:
    """A session as it should be, and one event that is not; returns its sequence."""
    await publish(log, "s1", [result("r1", "All is well. " * 900)])
    return (await publish_raw(log, subject, TURN)).sequence


async def parkings(log: Connection) -> list[int]:
    """Sequences of the events that park one."""
    return [one.sequence async for one in read_matching(log, "w.out.*.*.*.parked")]


@pytest.mark.parametrize("subject", SUBJECTS)
async def test_an_event_on_a_malformed_subject_is_parked_and_listed(
    server, log: Connection, subject: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.audit.verify.SETTLE_SECONDS", 0.3)
    sequence = await misplaced(log, subject)
    async with working(server.url, "firewall", "memory"):
        for worker in ("firewall", "memory", "firewall"):
            await until_finished(log, worker)
    [parked] = await dead_letters(log, "acme")
    assert (parked.sequence, parked.session) == (sequence, SUBJECTS[subject])
    assert f"it was published to '{subject}'" in parked.error
    model = ReadModel.in_memory([record async for record in read_matching(log, ">")])
    told = status(model.db, "acme", None, StatusRequest())
    assert [one.sequence for one in told.dead_letters] == [sequence]
    done = await verify(log, tmp_path, "o200k_base")
    assert not done.faults
    [note] = [one for one in done.findings if one.kind == "undecodable"]
    assert f"weft dlq drop {sequence}" in note.mend
    ran = await weft("dlq", "drop", str(sequence), "--tenant", "acme", url=server.url)
    assert ran.code == 0


async def test_what_no_worker_has_parked_is_told_with_advice_that_works(
    server, log: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.audit.verify.SETTLE_SECONDS", 0.3)
    sequence = await misplaced(log, "weft.acme.user.42.in.user_turn")
    done = await verify(log, tmp_path, "o200k_base")
    [fault] = [one for one in done.faults if one.kind == "undecodable"]
    assert fault.sequence == sequence
    assert "`weft erase --session user` removes it" in fault.mend
    ran = await weft("erase", "--session", "user", "--yes", "--tenant", "acme", url=server.url)
    assert ran.code == 0
    stored = [record.sequence async for record in read_matching(log, "w.42.>")]
    assert stored == []


@pytest.mark.parametrize("subject", SUBJECTS)
async def test_an_export_skips_such_an_event_and_says_so(
    server, log: Connection, subject: str, tmp_path: Path
) -> None:
    sequence = await misplaced(log, subject)
    async with working(server.url, "firewall", "memory"):
        for worker in ("firewall", "memory", "firewall"):
            await until_finished(log, worker)
    file = io.BytesIO()
    done = await export(log, "acme", None, file)
    [skipped] = done.skipped
    assert skipped.sequence == sequence
    [parked] = await parkings(log)
    assert skipped.about == ((parked,) if SUBJECTS[subject] != UNREADABLE else ())
    assert f"it was published to '{subject}'" in skipped.why
    assert (await export(log, "acme", "s1", io.BytesIO())).records
    file.seek(0)
    assert (await import_(log, file, "staging", None)).equal
    assert await parkings(log) == [parked]
    ran = await weft("export", str(tmp_path / "a"), "--tenant", "acme", url=server.url)
    assert ran.code == 0
    also = f", with event {parked} about it" if skipped.about else ""
    assert f"note: event {sequence} was skipped{also}: it was published to" in ran.err
    ran = await weft("export", str(tmp_path / "a"), "--tenant", "acme", "--json", url=server.url)
    assert [one["sequence"] for one in ran.json["skipped"]] == [sequence]


async def test_a_restored_export_without_such_an_event_has_no_faults(
    server, log: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.audit.verify.SETTLE_SECONDS", 0.3)
    sequence = await misplaced(log, "weft.acme.s1.in.user_turn.alice.extra")
    async with working(server.url, "firewall", "memory"):
        for worker in ("firewall", "memory", "firewall"):
            await until_finished(log, worker)
        ran = await weft("dlq", "drop", str(sequence), "--tenant", "acme", url=server.url)
        assert ran.code == 0
    file = io.BytesIO()
    await export(log, "acme", None, file)
    file.seek(0)
    async with EmbeddedServer(tmp_path / "restored") as other:
        restored = await connect(other.url)
        await provision(restored)
        assert (await import_(restored, file, "acme", None)).equal
        async with working(other.url, "firewall", "summarizer", "memory"):
            for worker in ("firewall", "summarizer", "memory"):
                await until_finished(restored, worker)
        assert not (await verify(restored, tmp_path / "models", "o200k_base")).faults
        await restored.close()


@pytest.mark.parametrize("subject", SUBJECTS)
async def test_a_rederivation_skips_such_an_event_and_says_so(
    server, log: Connection, subject: str
) -> None:
    sequence = await misplaced(log, subject)
    settings = Settings(nats_url=server.url, tenant="acme")
    for worker in ("firewall", "memory", "summarizer"):
        done = await rederive(log, settings, worker)
        assert done.failed == []
        is_in_session = SUBJECTS[subject] == "s1"
        assert [one.sequence for one in done.skipped] == [sequence] * is_in_session
    ran = await weft("rederive", "firewall", "--tenant", "acme", url=server.url)
    assert ran.code == 0
    assert (f"note: event {sequence} was skipped: " in ran.err) is is_in_session
