"""Everything on one machine: a session published and compiled through every service, a worker
killed on the way, and nothing left running at the end."""

import asyncio
import json
import os
import re
import signal
from pathlib import Path

import msgspec
from tests.integration.command_line import weft
from tests.integration.preloaded import shared_preloaded
from tests.integration.processes import Running, started
from tests.integration.test_supervisor import alive, until

from weft.client import Client
from weft.runtime.settings import Settings
from weft.supervision.up import EVERYTHING, Up, running
from weft_schemas.errors import WeftError
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

PATIENCE = 60.0
"""The most that a request may ask to be waited for."""
LARGE = "\n".join(f"2026-01-02T03:04:05Z worker-{n} ERROR disk {n} is full" for n in range(2_000))


def turns(first: int, count: int) -> list[ContextItem]:
    """A question, a tool call and a large result, so many times."""
    items = []
    for n in range(first, first + count):
        call = {"tool_name": "logs", "call_id": f"call-{n}"}
        items += [
            ContextItem(id=f"u{n}", kind=ItemKind.USER_TURN, text=f"What ails worker {n}?"),
            ContextItem(id=f"c{n}", kind=ItemKind.TOOL_CALL, parent_id=f"u{n}", metadata=call),
            ContextItem(
                id=f"r{n}", kind=ItemKind.TOOL_RESULT, text=LARGE, parent_id=f"c{n}", metadata=call
            ),
        ]
    return items


async def until_answering(client: Client) -> None:
    async with asyncio.timeout(2 * PATIENCE):
        while True:
            try:
                await client.status()
                return
            except WeftError:
                await asyncio.sleep(0.1)


def pids(up: Up) -> dict[str, int]:
    return {state.name: state.pid for state in up.supervisor.states() if state.pid is not None}


def is_back(up: Up, name: str) -> bool:
    [state] = [one for one in up.supervisor.states() if one.name == name]
    return state.restarts > 0 and state.status == "running"


async def test_a_session_goes_through_every_service_and_a_killed_worker(tmp_path: Path):
    """Each of them started for real, as where processes cannot be forked."""
    settings = Settings(data_dir=tmp_path / "data", tenant="acme")
    log_file = tmp_path / "weft.log"
    with log_file.open("ab") as log:
        async with running(settings, {**EVERYTHING, "firewall": 2}, log_file=log) as up:
            async with Client(
                msgspec.structs.replace(settings, nats_url=up.settings.nats_url)
            ) as c:
                await until_answering(c)
                ack = await c.publish("s1", turns(0, 3))
                up.supervisor.kill("firewall-1")
                for phase in Phase:
                    pack = await c.compile("s1", phase, after=ack.sequence, timeout=PATIENCE)
                    assert pack.pending == ()
                    assert LARGE not in pack.prompt
                    assert pack.stats.prompt_tokens <= pack.stats.budget
                await settled_one_by_one(c)
            await until(lambda: is_back(up, "firewall-1"))
            started = pids(up)
            server = up.server.pid
    assert not any(alive(pid) for pid in [*started.values(), server])
    restarts = {state.name: state.restarts for state in up.supervisor.states()}
    assert restarts.pop("firewall-1") == 1
    assert not any(restarts.values()), log_file.read_text()[-4_000:]


async def settled_one_by_one(client: Client) -> None:
    """Each pack holds, settled, the 1 KB result that was published just before."""
    for number in range(5):
        items = turns(1_000 + number, 1)
        items[-1] = msgspec.structs.replace(items[-1], text=f"no fault in {number}. " * 50)
        ack = await client.publish("s2", items)
        pack = await client.compile("s2", "interpret", after=ack.sequence, timeout=PATIENCE)
        assert pack.pending == ()
        assert f"no fault in {number}" in pack.prompt


async def test_the_embedded_server_comes_back_with_everything(tmp_path: Path):
    settings = Settings(data_dir=tmp_path / "data", tenant="acme")
    counts = {"firewall": 1, "indexer": 1, "compiler": 1}
    with (tmp_path / "weft.log").open("ab") as log:
        made = running(settings, counts, log_file=log, preloaded=shared_preloaded())
        async with made as up, Client(up.settings) as client:
            await until_answering(client)
            await client.publish("s1", turns(0, 1))
            os.kill(up.server.pid, signal.SIGKILL)
            ack = await client.publish("s1", turns(1, 1))
            pack = await client.compile("s1", "answer", after=ack.sequence, timeout=PATIENCE)
            assert pack.pending == ()
            assert "What ails worker 0?" in pack.prompt
            assert "What ails worker 1?" in pack.prompt


async def test_a_replica_is_one_command_that_ends_with_all_it_started(server, log, tmp_path: Path):
    environ = {"WEFT_NATS_URL": server.url, "WEFT_DATA_DIR": str(tmp_path), "WEFT_TENANT": "acme"}
    command = ("weft.cli.main", "work", "replica", "--compilers", "2")
    settings = Settings(nats_url=server.url, tenant="acme")
    async with started(*command, **environ) as replica, Client(settings) as client:
        await until_answering(client)
        ack = await client.publish("s1", turns(0, 1)[:1])
        pack = await client.compile("s1", "answer", after=ack.sequence, timeout=PATIENCE)
        assert "What ails worker 0?" in pack.prompt
        await until(lambda: len(children(replica)) == 3)
        pids = children(replica)
        assert await replica.end(signal.SIGINT) == 0
        assert not any(alive(pid) for pid in pids)


def children(replica: Running) -> set[int]:
    """Processes that have logged beside the supervisor itself."""
    return {line["pid"] for line in replica.log if "pid" in line} - {replica.process.pid}


async def test_what_was_only_counted_is_in_the_log_when_it_ends(tmp_path: Path):
    workers = ("--summarizer", "0", "--memory", "0", "--compiler", "0", "--router", "0")
    command = ("weft.cli.main", "up", "--data", str(tmp_path), "--port", "0", *workers)
    async with started(*command) as up:
        for lives in (1, 2, 3):
            await until(lambda lives=lives: len(firewalls(up)) == lives)
            if lives < 3:
                os.kill(firewalls(up)[-1], signal.SIGKILL)
        assert await up.end(signal.SIGINT) == 0
    assert up.log[-1]["message"] == "stopped\n"
    entries = [json.loads(line) for line in (tmp_path / "weft.log").read_text().splitlines()]
    ended = [entry.get("count") for entry in entries if entry["message"].startswith("a child end")]
    assert ended == [None, 1]


def firewalls(up: Running) -> list[int]:
    """The pid of every life of the firewall that `weft up` has told of."""
    matches = (re.match(r"  firewall +running \(process (\d+)", line["message"]) for line in up.log)
    return [int(line[1]) for line in matches if line]


async def test_weft_up_says_itself_why_a_service_cannot_run(tmp_path: Path):
    settings = {"WEFT_HTTP_HOST": "192.0.2.1"}  # of the documentation's network: nobody has it
    for _ in range(2):  # also beside what an earlier run has logged
        ran = await weft("up", "--data", str(tmp_path), "--port", "0", settings=settings)
        assert ran.code == 2
        last = ran.err.splitlines()[-1]
        assert re.fullmatch(
            r"weft: [a-z, ]+ cannot run with these settings: cannot listen on 192\.0\.2\.1:0: "
            r"[^;]*; it is no address of this machine; give one that is, or 0\.0\.0\.0 for all",
            last,
        ), last
