"""A worker as a process: health, metrics, signals, crashes, and two that share the work."""

import asyncio
import signal

import pytest
from tests.integration.logged import (
    PATIENCE,
    hurry,
    publish,
    publish_raw,
    result,
    stored,
    until,
    until_finished,
)
from tests.integration.processes import started

from weft.log.api import call
from weft.log.connection import Connection
from weft.log.topology import desired
from weft_schemas.events import EnvelopeEvent
from weft_schemas.subjects import STREAM, item_subject

ECHO = "tests.integration.echo_worker"
WORKER = ("weft.cli.main", "work", "firewall")


async def test_it_tells_its_health_and_its_metrics(server, log: Connection):
    async with started(*WORKER, WEFT_NATS_URL=server.url) as worker:
        await worker.until_ready()
        assert await worker.get("/live") == (200, "live\n")
        await publish(log, "a-session", [result(f"i{n}", "text") for n in range(5)])
        await publish_raw(log, item_subject("acme", "a-session", "tool_result"), b"{")
        await until_finished(log)
        async with asyncio.timeout(PATIENCE):
            while 'weft_lag_events{process="firewall"} 0.0' not in (
                metrics := (await worker.get("/metrics"))[1]
            ):
                await asyncio.sleep(0.1)
        assert await worker.end() == 0
    assert not [entry for entry in worker.log if entry["level"] == "plain"]
    tool_result = 'event="tool_result",outcome="{}",process="firewall"'
    assert f"weft_events_total{{{tool_result.format('derived')}}} 5.0" in metrics
    assert f"weft_events_total{{{tool_result.format('parked')}}} 1.0" in metrics
    assert 'weft_parked_total{process="firewall"} 1.0' in metrics
    assert 'weft_event_seconds_count{process="firewall"} 6.0' in metrics
    assert "acme" not in metrics
    assert "a-session" not in metrics


async def test_it_is_not_ready_without_a_server(server, log: Connection):
    async with started(ECHO, WEFT_NATS_URL=server.url) as worker:
        await worker.until_ready()
        await server.kill()
        async with asyncio.timeout(PATIENCE):
            while (await worker.get("/ready"))[0] != 503:
                await asyncio.sleep(0.1)
        await server.start()
        await worker.until_ready()
        assert await worker.end() == 0


async def test_sigterm_drains_and_exits_cleanly(server, log: Connection):
    await publish(log, "s1", [result(f"i{n}", "x") for n in range(3_000)])
    async with started(ECHO, WEFT_NATS_URL=server.url) as worker:
        await until(log, bool)
        assert await worker.end(signal.SIGTERM) == 0
    made = [event.origin.sequence for _, event in await stored(log)]
    assert len(made) == len(set(made))
    await hurry(log)
    async with started(ECHO, WEFT_NATS_URL=server.url) as worker:
        await until_finished(log)
        await worker.until_listening()
        assert await worker.end(signal.SIGINT) == 0
    assert len(await stored(log)) == 3_000


@pytest.mark.parametrize("step", ["fetch", "decode", "work", "publish", "ack"])
async def test_a_crash_after_any_step_gives_exactly_one_derived_event(server, log, step):
    await hurry(log)
    await publish(log, "s1", [result(f"i{n}", "x") for n in range(20)])
    environ = {"WEFT_NATS_URL": server.url, "WEFT_CRASH_AT": f"firewall.after_{step}:7"}
    async with started(ECHO, **environ) as worker:
        assert await worker.gone() == -signal.SIGKILL
    async with started(ECHO, WEFT_NATS_URL=server.url):
        await until_finished(log)
    events = await stored(log)
    assert sorted(event.origin.sequence for _, event in events) == list(range(1, 21))
    assert all(isinstance(event, EnvelopeEvent) for _, event in events)


async def test_two_firewalls_share_the_work_and_one_is_killed(server, log: Connection):
    await hurry(log)
    await publish(log, "s1", [result(f"i{n}", f"text {n}") for n in range(5_000)])
    environ = {"WEFT_NATS_URL": server.url}
    async with (
        started(*WORKER, **environ) as one,
        started(*WORKER, **environ) as other,
    ):
        await until(log, lambda events: len(events) >= 1_000)
        await one.end(signal.SIGKILL)
        await until_finished(log)
        await other.until_listening()
        assert await other.end() == 0
    sources = [event.origin.sequence for _, event in await stored(log)]
    assert len(sources) == 5_000
    assert set(sources) == {*range(1, 5_001)}


async def test_a_lost_stream_ends_it_with_a_clear_error(server, log: Connection):
    async with started(ECHO, WEFT_NATS_URL=server.url) as worker:
        await worker.until_ready()
        for name in desired().streams:
            await call(log, f"STREAM.DELETE.{name}")
        assert await worker.gone() == 3
    errors = [entry["error"] for entry in worker.log if entry["level"] == "error"]
    assert any(STREAM in error and "provision" in error for error in errors)


async def test_without_a_server_it_says_so():
    async with started(ECHO, WEFT_NATS_URL="nats://127.0.0.1:9") as worker:
        assert await worker.gone() == 3
    assert "no nats-server answers" in worker.log[-1]["error"]
