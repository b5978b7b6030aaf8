"""A log with an age limit: what tenants have put in force stays in force, and whoever cannot see to
that is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.integration.command_line import weft
from tests.integration.indexer_process import PATIENCE, publish
from tests.integration.snapshotted import ENCODING, turns

from weft.audit.doctor import age_limit as doctor
from weft.erasure.history import Target
from weft.erasure.records import erasure_history
from weft.erasure.session import erase, plan
from weft.erasure.tombstones import check_not_erased
from weft.indexer.rebuild import rebuild
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.reading import last_sequence, read_own
from weft.log.topology import LogLimits, provision
from weft.log.transport import connect
from weft.runtime.policies import grants_in_force, policy_in_force
from weft.runtime.settings import Settings
from weft.supervision import own_events as module
from weft.supervision import own_events_renewal
from weft.supervision.own_events import OwnEvents, own_events, renew
from weft.supervision.up import provision_log, running
from weft_schemas.errors import Conflict
from weft_schemas.events import ErasedEvent
from weft_schemas.grants import Grant, ScopeGrants
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.policy import ContextPolicy
from weft_schemas.routing import Catalog
from weft_schemas.subjects import STREAM

DAY = 86_400.0
STRICT = ContextPolicy(name="strict")
OF_SESSION = ContextPolicy(name="of s1", session="s1")
GRANTS = ScopeGrants((Grant("*", ("user:{principal}",)),))
IN_FORCE = [STRICT, OF_SESSION, GRANTS, Catalog("tools", ())]


@pytest.fixture
async def aging(log: Connection) -> Connection:
    """A log with an age limit and, since its first event, something in force."""
    await call(log, f"STREAM.DELETE.{STREAM}")
    await provision(log, limits=LogLimits(max_age=DAY))
    await publish(log, TENANT_SESSION, [ContextPolicy(name="replaced"), *IN_FORCE])
    await publish(log, "s1", turns(3))
    return log


@pytest.fixture
def half_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the time of everything in the log has passed."""
    monkeypatch.setattr(module, "RENEWED_SHARE", -1.0)


async def purge(log: Connection) -> None:
    """Everything leaves the log, as by age."""
    await call(log, f"STREAM.PURGE.{STREAM}")


@pytest.mark.usefixtures("half_gone")
async def test_what_is_in_force_is_published_again_before_it_leaves_the_log(
    aging: Connection, tmp_path: Path
) -> None:
    renewed = await renew(aging, tmp_path)
    assert [(one.kind, one.name, one.sequence) for one in renewed] == [
        ("context_policy", "", 2),
        ("context_policy", "s1", 3),
        ("scope_grants", "", 4),
        ("catalog", "tools", 5),
    ]
    await call(aging, f"STREAM.PURGE.{STREAM}", {"seq": 9})  # what was there before
    assert await policy_in_force(aging, "t") == (9, STRICT)
    assert await policy_in_force(aging, "t", "s1") == (10, OF_SESSION)
    assert await grants_in_force(aging, "t") == (11, GRANTS)
    assert [one async for one in read_own(aging, "t", Catalog)] == [(12, IN_FORCE[-1])]


async def test_what_is_young_or_in_a_log_without_a_limit_is_not_published_again(
    aging: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await renew(aging, tmp_path) == []
    monkeypatch.setattr(module, "RENEWED_SHARE", -1.0)
    await provision(aging)
    assert await renew(aging, tmp_path) == []
    assert await last_sequence(aging) == 8


@pytest.mark.usefixtures("half_gone")
async def test_what_somebody_publishes_meanwhile_stays_the_last(
    aging: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = ContextPolicy(name="newer")

    async def then_changed(log: Connection, data_dir: Path) -> OwnEvents:
        known = await own_events(log, data_dir)
        await publish(log, TENANT_SESSION, [newer])
        return known

    monkeypatch.setattr(module, "own_events", then_changed)
    renewed = await renew(aging, tmp_path)
    assert [one.kind for one in renewed] == ["scope_grants", "catalog"]
    assert (await policy_in_force(aging, "t"))[1] == newer


async def test_what_has_left_the_log_comes_back_from_a_read_model(
    aging: Connection, tmp_path: Path
) -> None:
    await rebuild(aging, tmp_path, ENCODING)
    await purge(aging)
    settings = Settings(data_dir=tmp_path)
    [lost] = await doctor.age_limit(aging, settings)
    assert lost.state == "fault"
    assert "context_policy of tenant 't' (event 2)" in lost.found
    assert await renew(aging, tmp_path / "elsewhere") == []
    assert [one.sequence for one in await renew(aging, tmp_path)] == [2, 3, 4, 5]
    assert await policy_in_force(aging, "t") == (9, STRICT)
    assert await policy_in_force(aging, "t", "s1") == (10, OF_SESSION)
    assert await grants_in_force(aging, "t") == (11, GRANTS)
    assert await renew(aging, tmp_path) == []
    [kept] = await doctor.age_limit(aging, settings)
    assert kept.state == "ok"


async def test_what_an_erasure_took_does_not_come_back(aging: Connection, tmp_path: Path) -> None:
    await rebuild(aging, tmp_path, ENCODING)
    await publish(aging, TENANT_SESSION, [ErasedEvent(None)])
    await call(aging, f"STREAM.PURGE.{STREAM}", {"seq": 9})
    assert await renew(aging, tmp_path) == []


async def test_what_leaves_the_log_soon_is_a_fault_where_nobody_publishes_it_again(
    aging: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(data_dir=tmp_path)
    [young] = await doctor.age_limit(aging, settings)
    assert young.state == "ok"
    monkeypatch.setattr(doctor, "OVERDUE_SHARE", -1.0)
    [overdue] = await doctor.age_limit(aging, settings)
    assert overdue.state == "fault"
    assert "will leave the log by age soon" in overdue.found
    assert "`weft provision` publishes them again" in overdue.do


async def test_what_is_shown_says_that_it_may_have_left_the_log(aging: Connection) -> None:
    url = f"nats://{aging.connected_url.netloc}"
    await purge(aging)
    await publish(aging, "s1", turns(1, first=3))
    for command in ("policy", "grants"):
        ran = await weft(command, "show", url=url, settings={"WEFT_TENANT": "t"})
        assert "The log begins at event 9 by age" in ran.err


@pytest.mark.usefixtures("half_gone")
async def test_up_sees_to_it_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_events_renewal, "MAX_RENEWAL_PAUSE", 0.01)
    async with running(Settings(data_dir=tmp_path, max_age_days=1.0), {}) as started:
        log = await connect(started.settings.nats_url)
        await publish(log, TENANT_SESSION, [STRICT])
        async with asyncio.timeout(PATIENCE):
            while (await policy_in_force(log, "t"))[0] < 3:
                await asyncio.sleep(0.01)
        assert (await policy_in_force(log, "t"))[1] == STRICT
        await log.close()


async def test_provision_puts_back_in_force_what_has_left_the_log(
    aging: Connection, tmp_path: Path
) -> None:
    await rebuild(aging, tmp_path, ENCODING)
    await purge(aging)
    url = f"nats://{aging.connected_url.netloc}"
    await provision_log(Settings(nats_url=url, data_dir=tmp_path, max_age_days=1.0))
    assert await policy_in_force(aging, "t") == (9, STRICT)


@pytest.mark.usefixtures("half_gone")
async def test_a_log_without_room_does_not_keep_up_from_starting(
    aging: Connection, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = (await call(aging, f"STREAM.INFO.{STREAM}"))["config"]
    await call(aging, f"STREAM.UPDATE.{STREAM}", {**config, "max_msgs": 8})
    await own_events_renewal.renew_or_warn(aging, tmp_path)
    assert "are not published again yet" in caplog.text


async def erased(log: Connection, session: str | None) -> int:
    """An erasure, and how many events the log then has."""
    await erase(log, await plan(log, "t", session))
    return await last_sequence(log)


@pytest.mark.usefixtures("half_gone")
@pytest.mark.parametrize("session", ["s1", None])
async def test_what_was_erased_stays_erased_under_its_name(
    aging: Connection, tmp_path: Path, session: str | None
) -> None:
    last = await erased(aging, session)
    [*_, renewed] = await renew(aging, tmp_path)
    assert (renewed.kind, renewed.name) == ("erased", session or "")
    await call(aging, f"STREAM.PURGE.{STREAM}", {"seq": last + 1})  # what was there before
    with pytest.raises(Conflict, match="erased"):
        await check_not_erased(aging, "t", "s1")
    assert (await erasure_history(aging)).unfinished() == []


async def test_a_tombstone_that_has_left_the_log_comes_back_from_a_read_model(
    aging: Connection, tmp_path: Path
) -> None:
    await erased(aging, "s1")
    await rebuild(aging, tmp_path, ENCODING)
    await purge(aging)
    [lost] = await doctor.age_limit(aging, Settings(data_dir=tmp_path))
    assert "tombstone 's1' of tenant 't'" in lost.found
    await check_not_erased(aging, "t", "s1")
    await renew(aging, tmp_path)
    with pytest.raises(Conflict, match="erased"):
        await check_not_erased(aging, "t", "s1")
    assert (await erasure_history(aging)).unfinished() == []


@pytest.mark.usefixtures("half_gone")
async def test_an_erasure_that_was_interrupted_stays_unfinished(
    aging: Connection, tmp_path: Path
) -> None:
    await publish(aging, TENANT_SESSION, [ErasedEvent("s1")])
    await renew(aging, tmp_path)
    assert (await erasure_history(aging)).unfinished() == [Target("t", "s1")]
