"""What the auditor says of erasures: what they deleted is no gap, wherever they were interrupted;
what somebody else deleted is one."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest
from tests.audited import turn
from tests.integration.logged import publish, publish_raw
from tests.integration.test_audit_verify import kinds, only

from weft.audit.verify import verify
from weft.erasure.records import publish_own
from weft.erasure.scope import erase_scope, plan_scope
from weft.erasure.session import erase as erase_planned
from weft.erasure.session import plan
from weft.log import secure_delete
from weft.log.api import call as ask_server
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.secure_delete import erase
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.events import (
    EnvelopeEvent,
    ErasedEvent,
    ErasingEvent,
    ErasureReceiptEvent,
    Origin,
    encode_event,
)
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.subjects import STREAM, derived_subject

ERASE_ALL = "weft.erasure.records.erase_all"
OF_SCOPE = {"scope": "user:1"}


def interrupted_after(number: int) -> Callable[..., Awaitable[int]]:
    """An erasure of events that is ended after some of them."""

    async def erase_some(connection, stream, sequences, on_progress):
        await secure_delete.erase_all(connection, stream, sequences[:number], on_progress)
        raise KeyboardInterrupt

    return erase_some


@pytest.mark.parametrize("late", [0, 7])
async def test_an_erasure_that_was_interrupted_counts_all_that_it_removed(
    log: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: int
):
    """Also what came after its tombstone, from a client that did not know of it."""
    await publish(log, "s2", [turn(f"u{n}", "one") for n in range(40)])
    await publish(log, "another", [turn(f"u{n}", "one") for n in range(90)])
    await erase_planned(log, await plan(log, "acme", "another"))
    with monkeypatch.context() as dying:
        dying.setattr(ERASE_ALL, interrupted_after(25))
        with pytest.raises(KeyboardInterrupt):
            await erase_planned(log, await plan(log, "acme", "s2"))
    unfinished = only(await verify(log, tmp_path, "o200k_base"), "unfinished_erasure")
    assert (unfinished.tenant, unfinished.session) == ("acme", "s2")
    assert "`weft erase --session s2 --tenant acme`" in unfinished.mend
    await publish(log, "s2", [turn(f"late{n}", "one") for n in range(late)])
    with monkeypatch.context() as dying:
        dying.setattr(ERASE_ALL, interrupted_after(99))
        with pytest.raises(KeyboardInterrupt):
            await erase_planned(log, await plan(log, "acme", "s2"))
    done = await erase_planned(log, await plan(log, "acme", "s2"))
    assert done.removed["events"] == 40 + late
    assert kinds(await verify(log, tmp_path, "o200k_base")) == []
    for _ in range(2):
        again = await erase_planned(log, await plan(log, "acme", "s2"))
        assert again.removed["events"] == 0
    assert kinds(await verify(log, tmp_path, "o200k_base")) == []


async def test_an_interrupted_erasure_of_a_scope_is_finished_by_the_next(
    log: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    said = [msgspec.structs.replace(turn(f"u{n}", "one"), metadata=OF_SCOPE) for n in range(40)]
    await publish(log, "s2", said)
    with monkeypatch.context() as dying:
        dying.setattr(ERASE_ALL, interrupted_after(25))
        with pytest.raises(KeyboardInterrupt):
            await erase_scope(log, await plan_scope(log, "acme", "user:1"))
    unfinished = only(await verify(log, tmp_path, "o200k_base"), "unfinished_erasure")
    assert "`weft erase --scope user:1 --tenant acme`" in unfinished.mend
    done = await erase_scope(log, await plan_scope(log, "acme", "user:1"))
    assert done.removed["events"] == 40
    assert kinds(await verify(log, tmp_path, "o200k_base")) == []


async def test_a_parent_that_was_erased_with_its_scope_is_explained(
    log: Connection, tmp_path: Path
):
    """Of another tenant, where nothing was erased, it is a fault."""
    asked = msgspec.structs.replace(turn("u1", "I live in Rome."), metadata=OF_SCOPE)
    follow_up = msgspec.structs.replace(turn("u2", "Well?"), parent_id="u1")
    await publish(log, "s1", [asked, follow_up])
    await erase_scope(log, await plan_scope(log, "acme", "user:1"))
    done = await verify(log, tmp_path, "o200k_base")
    assert kinds(done) == []
    [note] = [one for one in done.findings if one.kind == "unknown_parent"]
    assert note.item_id == "u2"
    assert "items were erased with scope 'user:1' of tenant 'acme'" in note.what
    assert "publish" not in note.mend
    await publish(log, "s1", [follow_up], tenant="beta")
    assert only(await verify(log, tmp_path, "o200k_base"), "unknown_parent").tenant == "beta"


async def test_envelopes_that_came_to_an_erased_session_are_no_fault(
    log: Connection, tmp_path: Path
):
    await publish(log, "s2", [turn("u1", "one")])
    await erase_planned(log, await plan(log, "acme", "s2"))
    subject = derived_subject("acme", "s2", "envelope")
    for text in ("late", "later"):
        event = EnvelopeEvent(Origin(1, "u1", "firewall"), ResultEnvelope(text))
        await publish_raw(log, subject, encode_event(event))
    done = await verify(log, tmp_path, "o200k_base")
    assert kinds(done) == []
    [note] = [one for one in done.findings if one.kind == "enveloped_twice"]
    assert "session 's2' of tenant 'acme' was erased before" in note.what
    assert note.mend == "`weft erase --session s2 --tenant acme` erases them"


async def test_the_erasure_of_a_tenant_finishes_those_of_its_sessions(
    log: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Also one that was interrupted right after its tombstone."""
    await publish(log, "s2", [turn(f"u{n}", "one") for n in range(20)])

    async def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr("weft.erasure.session.until_settled", die)
        with pytest.raises(KeyboardInterrupt):
            await erase_planned(log, await plan(log, "acme", "s2"))
    only(await verify(log, tmp_path, "o200k_base"), "unfinished_erasure")
    await erase_planned(log, await plan(log, "acme", None))
    assert kinds(await verify(log, tmp_path, "o200k_base")) == []


async def test_two_erasers_of_one_session(
    log: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Both have planned before there was a tombstone; one is interrupted."""
    await publish(log, "s2", [turn(f"u{n}", "one") for n in range(20)])
    plans = [await plan(log, "acme", "s2") for _ in range(2)]
    with monkeypatch.context() as dying:
        dying.setattr(ERASE_ALL, interrupted_after(5))
        with pytest.raises(KeyboardInterrupt):
            await erase_planned(log, plans[0], "asked for")
    done = await erase_planned(log, plans[1], "law")
    assert done.removed["events"] == 20
    assert kinds(await verify(log, tmp_path, "o200k_base")) == []


async def test_an_interrupted_erasure_is_finished_in_a_log_that_is_full(
    log: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    await publish(log, "s2", [turn(f"u{n}", "one") for n in range(200)])
    with monkeypatch.context() as dying:
        dying.setattr(ERASE_ALL, interrupted_after(5))
        with pytest.raises(KeyboardInterrupt):
            await erase_planned(log, await plan(log, "acme", "s2"))
    info = await ask_server(log, f"STREAM.INFO.{STREAM}")
    full = {**info["config"], "max_msgs": info["state"]["messages"]}
    await ask_server(log, f"STREAM.UPDATE.{STREAM}", full)
    done = await erase_planned(log, await plan(log, "acme", "s2"))
    assert done.removed["events"] == 200
    assert kinds(await verify(log, tmp_path, "o200k_base")) == []


@pytest.mark.parametrize("deleted", [12, 20])
async def test_an_erasure_by_an_earlier_release_is_finished(
    log: Connection, tmp_path: Path, deleted: int
):
    """It named nothing: its tombstone says how many events there were, its receipt how many it
    removed. Late events are erased by this release."""
    acks = await publish(log, "s2", [turn(f"u{n}", "one") for n in range(20)])
    async with Publisher(log) as publisher:
        stone = await publish_own(publisher, "acme", ErasedEvent("s2", "", 20))
        for ack in acks[:deleted]:
            await erase(log, STREAM, ack.sequence)
        if deleted == 20:
            receipt = ErasureReceiptEvent("s2", stone, {"events": 20}, ())
            await publish_own(publisher, "acme", receipt)
            assert kinds(await verify(log, tmp_path, "o200k_base")) == []
    await publish(log, "s2", [turn("late", "one")])
    done = await erase_planned(log, await plan(log, "acme", "s2"))
    assert done.removed["events"] == 21 - deleted
    assert kinds(await verify(log, tmp_path, "o200k_base")) == []


async def test_made_up_records_of_erasures_explain_nothing_to_come(log: Connection, tmp_path: Path):
    """Nor do they stop the audit, or spoil another tenant's."""
    await publish(log, "s2", [turn("u1", "one")])
    done = await erase_planned(log, await plan(log, "acme", "s2"))
    async with Publisher(log) as publisher:
        stone = await publish_own(publisher, "beta", ErasedEvent("s1"))
        for tombstone in (0, stone, 2**63, done.tombstones["s2"]):
            await publish_own(publisher, "beta", ErasingEvent(tombstone, ((1, 10**18),)))
        await publish_own(publisher, "beta", ErasureReceiptEvent("s1", stone, {}, ()))
    [kept] = await publish(log, "s3", [turn("u1", "one")])
    await erase(log, STREAM, kept.sequence)
    finding = only(await verify(log, tmp_path, "o200k_base"), "gap")
    assert finding.sequence == kept.sequence


async def test_what_somebody_deletes_is_a_gap_whatever_an_erasure_removed(
    log: Connection, tmp_path: Path
):
    await publish(log, "s2", [turn(f"u{n}", "one") for n in range(5)])
    [kept] = await publish(log, "s3", [turn("u1", "one")])
    await erase_planned(log, await plan(log, "acme", "s2"))
    await erase(log, STREAM, kept.sequence)
    finding = only(await verify(log, tmp_path, "o200k_base"), "gap")
    assert f"1 messages are missing ({kept.sequence}) that no erasure names" in finding.what


async def test_what_an_erasure_removed_is_no_gap(log: Connection, tmp_path: Path):
    [first, second] = await publish(log, "s2", [turn("u1", "one"), turn("u2", "two")])
    grave = await publish_raw(
        log,
        derived_subject("acme", TENANT_SESSION, "erased"),
        encode_event(ErasedEvent("s2")),
    )
    for ack in (first, second):
        await erase(log, STREAM, ack.sequence)
    unfinished, gap = (await verify(log, tmp_path, "o200k_base")).faults
    assert (unfinished.kind, gap.kind) == ("unfinished_erasure", "gap")
    assert gap.mend.startswith("finish the erasures")
    receipt = ErasureReceiptEvent("s2", grave.sequence, {"events": 2}, ())
    subject = derived_subject("acme", TENANT_SESSION, "erasure_receipt")
    await publish_raw(log, subject, encode_event(receipt))
    assert kinds(await verify(log, tmp_path, "o200k_base")) == []


async def test_after_a_real_erasure_all_is_well(log: Connection, tmp_path: Path):
    await publish(log, "s2", [turn("u1", "one"), turn("u2", "two")])
    await erase_planned(log, await plan(log, "acme", "s2"))
    done = await verify(log, tmp_path, "o200k_base")
    assert kinds(done) == [], done.faults
