"""`weft status` lists every process, and says by its exit code whether one is amiss."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import msgspec
from tests.integration.command_line import services, weft
from tests.integration.fleet import FIREWALL, REPLICA, Fleet
from tests.integration.logged import publish_raw, until

from weft.log.api import call
from weft.log.connection import Connection
from weft.log.topology import worker_consumer
from weft.workers.durable_consumers import DurableConsumer, abandoned
from weft_schemas.events import ParkedEvent, encode_event
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.subjects import STREAM, item_subject

USER_TURN = ItemKind.USER_TURN


async def test_without_a_firewall_it_says_so_and_fails(tmp_path: Path) -> None:
    async with services(tmp_path / "up", "--firewall", "0") as url:
        ran = await weft("status", url=url)
        assert ran.code == 1
        assert "no firewall answers: results of tools stay pending" in ran.err
        assert "`weft work firewall`" in ran.err
        found = (await weft("status", "--json", url=url)).json
        assert not found["healthy"]
        assert sorted(one["service"] for one in found["processes"] if one["ready"]) == [
            "compiler", "indexer", "memory", "router", "summarizer",
        ]  # fmt: skip


async def test_a_process_that_is_held_up_is_missing_and_an_error_is_told(
    server, log: Connection, tmp_path: Path
) -> None:
    async with Fleet(server.url, tmp_path) as fleet:
        firewall = await fleet.add("firewall", FIREWALL)
        await fleet.add("replica", REPLICA)
        bad = await publish_raw(log, item_subject("acme", "s1", "user_turn"), b"no event")
        await until(log, lambda events: any(isinstance(one, ParkedEvent) for _, one in events))
        found = (await weft("status", "--json", url=server.url)).json
        (one,) = (one for one in found["processes"] if one["service"] == "firewall")
        assert one["ready"]
        assert re.match(
            rf"\d{{4}}-\d\d-\d\dT[\d:]{{8}}Z .*event {bad.sequence}: ", one["last_error"]
        )
        missing = [note.partition(" answers")[0] for note in found["notes"]]
        assert missing == ["no summarizer", "no memory"]
        os.kill(firewall.process.pid, signal.SIGSTOP)
        try:
            ran = await weft("status", url=server.url)
            looked = await weft("doctor", "--data", str(tmp_path), "--json", url=server.url)
        finally:
            os.kill(firewall.process.pid, signal.SIGCONT)
        assert ran.code == looked.code == 1
        assert "no firewall answers" in ran.err
        [processes] = (one for one in looked.json if one["name"] == "processes")
        assert processes["state"] == "fault"
        assert "no firewall answers: results of tools stay pending" in processes["found"]
        assert "start one: `weft work firewall`" in processes["do"]


async def test_a_worker_of_ones_own_that_stands_still_is_missing(
    server, log: Connection, tmp_path: Path
) -> None:
    """Where nobody fetches for its consumer, and only while events wait."""
    config = worker_consumer("tickets", "w.in.>")
    body = {"stream_name": STREAM, "config": config}
    await call(log, f"CONSUMER.CREATE.{STREAM}.tickets.{config['filter_subject']}", body)
    async with Fleet(server.url, tmp_path) as fleet:
        await fleet.add("firewall", FIREWALL)
        assert "tickets answers" not in (await weft("status", url=server.url)).err
        for n in range(3):
            subject = item_subject("acme", "s1", "user_turn")
            await publish_raw(log, subject, encode_event(ContextItem(f"u{n}", USER_TURN, "hi")))
        ran = await weft("status", url=server.url)
        checks = (await weft("doctor", "--json", url=server.url)).json
    assert ran.code == 1
    assert "no tickets answers, and 3 events wait for it" in ran.err
    assert "`weft work MODULE:tickets`, or `weft workers remove tickets`" in ran.err
    (told,) = (check for check in checks if check["name"] == "processes")
    missing = [one.partition(" answers")[0] for one in told["found"].split("; ")]
    assert missing == ["no summarizer", "no memory", "no indexer", "no compiler", "no tickets"]
    assert told["state"] == "fault"
    assert told["found"].endswith("; no tickets answers, and 3 events wait for it")


async def test_a_worker_of_ones_own_is_removed_once_none_runs(server, log: Connection) -> None:
    config = worker_consumer("tickets", "w.in.>")
    body = {"stream_name": STREAM, "config": config}
    await call(log, f"CONSUMER.CREATE.{STREAM}.tickets.{config['filter_subject']}", body)
    inbox = log.new_inbox()
    delivered = await log.subscribe(inbox)
    fetch = msgspec.json.encode({"batch": 1, "expires": 60 * 10**9})
    await log.publish(f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.tickets", fetch, reply=inbox)
    ran = await weft("workers", "remove", "tickets", url=server.url)
    assert (ran.code, "a process of tickets runs; end it" in ran.err) == (6, True), ran.err
    for n in range(3):
        subject = item_subject("acme", "s1", "user_turn")
        await publish_raw(log, subject, encode_event(ContextItem(f"u{n}", USER_TURN, "hi")))
    await delivered.next_msg(timeout=60)  # which ends the fetch
    for name, code, told in (
        ("memory", 2, "memory is a worker of weft itself"),
        ("nobody", 4, "no worker 'nobody' of your own has a consumer; there are: tickets"),
    ):
        ran = await weft("workers", "remove", name, url=server.url)
        assert (ran.code, told in ran.err) == (code, True), ran.err
    ran = await weft("workers", "remove", "tickets", url=server.url)
    assert (ran.code, ran.out) == (0, "removed the worker tickets; 3 events waited for it\n")
    again = await weft("workers", "remove", "tickets", "--json", url=server.url)
    assert (again.code, "there are: none" in again.err) == (4, True), again.err


def test_a_consumer_that_somebody_fetches_for_or_that_is_done_is_not_abandoned() -> None:
    waits = DurableConsumer("tickets", 2, 1, 0, is_fetched=False)
    assert len(abandoned([waits], ["firewall"])) == 1
    assert abandoned([waits], ["firewall", "tickets"]) == []
    for other in ({"is_fetched": True}, {"lag": 0, "in_work": 0}, {"name": "memory"}):
        assert abandoned([msgspec.structs.replace(waits, **other)], []) == []
