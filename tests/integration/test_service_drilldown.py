"""Drill-down from plain NATS: slices of raw bodies, masked, of one's own tenant alone."""

import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from tests.audited import KEY
from tests.integration.folding import folding
from tests.integration.logged import publish, result, until
from tests.integration.processes import started

from weft.firewall import service
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import read_session
from weft.log.secure_delete import erase_all
from weft.log.topology import provision
from weft.log.transport import connect
from weft.readmodel.generations import Generations
from weft.readmodel.store import open_writer
from weft.runtime.process import Process
from weft.runtime.replica import Replica
from weft.runtime.request_client import ask
from weft.runtime.requests import ReceivedRequest
from weft.runtime.settings import Settings
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.compile import DrilldownReply, DrilldownRequest
from weft_schemas.errors import Forbidden, InvalidInput, NotFound, Unavailable
from weft_schemas.events import EnvelopeEvent, Event, encode_event
from weft_schemas.ids import TENANT_SESSION, artifact_handle, handle_key
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, SensitivityAction
from weft_schemas.status import StatusReply, StatusRequest
from weft_schemas.subjects import STREAM, derived_subject

LINES = [f"line {n}: worker {n % 7} is fine" for n in range(5_000)]
SECRET = "AKIAIOSFODNN7" + "QWERTYU"


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def log(shared_log: Connection) -> Connection:
    return shared_log


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def replica(
    server: EmbeddedServer, log: Connection, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[None]:
    folder = tmp_path_factory.mktemp("replica")
    environ = {"WEFT_NATS_URL": server.url, "WEFT_DATA_DIR": str(folder)}
    async with (
        folding(log, folder),
        started("weft.cli.main", "work", "firewall", **environ) as firewall,
        started("weft.cli.main", "work", "compiler", **environ) as compiler,
    ):
        await firewall.until_ready()
        await compiler.until_ready()
        yield


async def drilled(
    log: Connection, tenant: str, item_id: str, asker: str = "", **request
) -> DrilldownReply:
    """Into an item of a tenant, for the tenant itself or another."""
    handle = artifact_handle(tenant, "s1", item_id, handle_key(KEY))
    asked = DrilldownRequest(handle, **request)
    return await ask(
        log, (asker or tenant, TENANT_SESSION, "drilldown"), asked, DrilldownReply, 60.0
    )


async def test_a_handle_is_not_looked_up_in_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generations = Generations(tmp_path)
    path = generations.new()
    open_writer(path).close()
    generations.publish(path)
    process = Process("compiler", Settings(data_dir=tmp_path, fingerprint_key="secret"))
    threads: list[str] = []

    def missing(*_: object) -> None:
        threads.append(threading.current_thread().name)
        raise NotFound("no such handle")

    monkeypatch.setattr(service, "allowed", missing)
    unused: Any = None
    async with Replica(tmp_path) as replica:
        drilldowns = service._Drilldowns(process, replica, unused, unused)
        with pytest.raises(NotFound):
            await drilldowns.drilldown(ReceivedRequest("t", "s", DrilldownRequest("art:x")))
    assert threads
    assert threading.main_thread().name not in threads


async def settled(log: Connection, tenant: str, items: list[ContextItem]) -> None:
    """Publish, and wait until all envelopes are folded."""
    sources = {ack.sequence for ack in await publish(log, "s1", items, tenant)}

    def have_envelopes(events: list[tuple[int, Event]]) -> bool:
        envelopes = (event for _, event in events if isinstance(event, EnvelopeEvent))
        return sources <= {envelope.origin.sequence for envelope in envelopes}

    events = await until(log, have_envelopes)
    asked = StatusRequest(after=events[-1][0], timeout=60.0)
    await ask(log, (tenant, "s1", "status"), asked, StatusReply, 60.0)


async def test_slices_of_a_body_follow_one_another(replica, log: Connection, tenant: str):
    await settled(log, tenant, [result("r", "\n".join(LINES))])
    first = await drilled(log, tenant, "r", max_tokens=200)
    assert first.text.startswith(LINES[0])
    assert first.truncated
    assert first.tokens <= 200
    assert (first.item_id, first.session) == ("r", "s1")
    following = await drilled(log, tenant, "r", view=first.view, args=first.next, max_tokens=200)
    shown = (first.text + following.text).splitlines()
    assert shown == LINES[: len(shown)]


async def test_a_body_in_the_object_store_and_its_sensitivity(
    replica, log: Connection, tenant: str
):
    body = "\n".join(LINES * 4).encode()
    async with Publisher(log) as publisher:
        reference = await Bodies(log, publisher, tenant).put(body)
    item = ContextItem(
        id="b", kind=ItemKind.TOOL_RESULT, body=reference, sensitivity=Sensitivity.INTERNAL
    )
    await settled(log, tenant, [item])
    shown = await drilled(log, tenant, "b", view="search", args={"pattern": "line 4711:"})
    assert LINES[4711] in shown.text
    assert shown.sensitivity is Sensitivity.INTERNAL


async def test_a_secret_stays_masked(replica, log: Connection, tenant: str):
    lines = list(LINES)
    lines[3] = f"aws_access_key_id = {SECRET}"
    await settled(log, tenant, [result("s", "\n".join(lines))])
    shown = await drilled(log, tenant, "s")
    assert LINES[2] in shown.text
    assert SECRET not in shown.text


async def test_what_is_not_there_or_not_ones_own_is_refused(replica, log: Connection, tenant: str):
    await settled(log, tenant, [result("r", "\n".join(LINES))])
    with pytest.raises(NotFound, match="art:"):
        await drilled(log, tenant, "nothing")
    with pytest.raises(NotFound):
        await drilled(log, tenant, "r", asker="globex")
    with pytest.raises(InvalidInput, match="no view 'x-ray'"):
        await drilled(log, tenant, "r", view="x-ray")
    with pytest.raises(InvalidInput, match=r"'\(line' is no regular expression"):
        await drilled(log, tenant, "r", view="search", args={"pattern": "(line"})


async def test_a_handle_whose_result_was_trimmed_says_so(replica, log: Connection, tenant: str):
    """Prompts still offer it, since the read model outlives the log's old end."""
    body = "\n".join(LINES * 4).encode()
    async with Publisher(log) as publisher:
        bodies = Bodies(log, publisher, tenant)
        stored = ContextItem("stored", ItemKind.TOOL_RESULT, body=await bodies.put(body))
        await settled(log, tenant, [result("r", "RAW"), stored])
        assert (await drilled(log, tenant, "stored")).text
        await bodies.delete_all()
    told = r"full result behind 'art:\w+' is no longer in the log: it was trimmed.*call its tool"
    with pytest.raises(NotFound, match=told):
        await drilled(log, tenant, "stored")
    gone = [one.sequence async for one in read_session(log, tenant, "s1")]
    await erase_all(log, STREAM, gone)
    for item_id in ("r", "stored"):
        with pytest.raises(NotFound, match=told):
            await drilled(log, tenant, item_id)


async def in_force(log: Connection, tenant: str, policy: ContextPolicy) -> None:
    subject = derived_subject(tenant, TENANT_SESSION, "context_policy")
    async with Publisher(log) as publisher:
        ack = await publisher.publish(subject, encode_event(policy))
    asked = StatusRequest(after=ack.sequence, timeout=60.0)
    await ask(log, (tenant, "s1", "status"), asked, StatusReply, 60.0)


async def test_floor_and_action_of_the_policy_hold_behind_a_handle_too(
    replica, log: Connection, tenant: str
):
    text = "\n".join(LINES)
    secret = ContextItem("x", ItemKind.TOOL_RESULT, text, sensitivity=Sensitivity.CONFIDENTIAL)
    await settled(log, tenant, [secret, result("r", text)])
    with pytest.raises(Forbidden, match="confidential, and the policy in force drops"):
        await drilled(log, tenant, "x")
    await in_force(log, tenant, ContextPolicy(sensitivity_action=SensitivityAction.REDACT))
    shown = [
        await drilled(log, tenant, "x", view="search", args={"pattern": one})
        for one in ("line 4711", "no")
    ]
    assert {one.text for one in shown} == {"[REDACTED: confidential]"}
    assert len({msgspec.structs.replace(one, view="").__repr__() for one in shown}) == 1
    assert (await drilled(log, tenant, "r")).text.startswith(LINES[0])
    await in_force(log, tenant, ContextPolicy(sensitivity_floor=Sensitivity.PUBLIC))
    with pytest.raises(Forbidden):
        await drilled(log, tenant, "r")


async def test_a_handle_is_not_told_by_names_alone(replica, log: Connection, tenant: str):
    """Only the deployment's secret makes one, before the envelope and after it."""
    body = "\n".join(LINES * 4).encode()
    async with Publisher(log) as publisher:
        reference = await Bodies(log, publisher, tenant).put(body)
    trusted = ContextItem("t", ItemKind.USER_TURN, body=reference)
    await publish(log, "s1", [trusted], tenant)
    await settled(log, tenant, [result("r", "\n".join(LINES))])
    for item_id in ("r", "t"):
        assert (await drilled(log, tenant, item_id)).item_id == item_id
        guessed = DrilldownRequest(artifact_handle(tenant, "s1", item_id))
        with pytest.raises(NotFound):
            await ask(log, (tenant, TENANT_SESSION, "drilldown"), guessed, DrilldownReply, 60.0)


async def test_nobody_looks_into_a_body_without_its_envelope(tmp_path: Path, tenant: str):
    async with EmbeddedServer(tmp_path / "nats") as server:
        log = await connect(server.url)
        await provision(log)
        environ = {"WEFT_NATS_URL": server.url, "WEFT_DATA_DIR": str(tmp_path)}
        async with (
            folding(log, tmp_path),
            started("weft.cli.main", "work", "compiler", **environ) as compiler,
        ):
            await compiler.until_ready()
            [ack] = await publish(log, "s1", [result("r", "RAW")], tenant)
            asked = StatusRequest(after=ack.sequence, timeout=60.0)
            await ask(log, (tenant, "s1", "status"), asked, StatusReply, 60.0)
            with pytest.raises(Unavailable, match="no envelope yet"):
                await drilled(log, tenant, "r")
        await log.close()
