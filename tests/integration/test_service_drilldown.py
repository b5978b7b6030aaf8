"""Drill-down from plain NATS: slices of raw bodies, masked, of one's own tenant alone."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from tests.audited import KEY
from tests.integration.folding import folding
from tests.integration.logged import publish, result, until
from tests.integration.processes import started

from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.runtime.request_client import ask
from weft_schemas.compile import DrilldownReply, DrilldownRequest
from weft_schemas.errors import Forbidden, InvalidInput, NotFound, Unavailable
from weft_schemas.events import encode_event
from weft_schemas.ids import TENANT_SESSION, artifact_handle, handle_key
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, SensitivityAction
from weft_schemas.status import StatusReply, StatusRequest
from weft_schemas.subjects import derived_subject

LINES = [f"line {n}: worker {n % 7} is fine" for n in range(5_000)]
SECRET = "AKIAIOSFODNN7" + "QWERTYU"


@pytest.fixture
async def replica(server, log: Connection, tmp_path: Path) -> AsyncIterator[None]:
    environ = {"WEFT_NATS_URL": server.url, "WEFT_DATA_DIR": str(tmp_path)}
    async with (
        folding(log, tmp_path),
        started("weft.cli.main", "work", "firewall", **environ) as firewall,
        started("weft.cli.main", "work", "compiler", **environ) as compiler,
    ):
        await firewall.until_ready()
        await compiler.until_ready()
        yield


async def drilled(log: Connection, item_id: str, tenant: str = "acme", **request) -> DrilldownReply:
    handle = artifact_handle("acme", "s1", item_id, handle_key(KEY))
    asked = DrilldownRequest(handle, **request)
    return await ask(log, (tenant, TENANT_SESSION, "drilldown"), asked, DrilldownReply, 60.0)


async def settled(log: Connection, items: list[ContextItem]) -> None:
    """Publish, and wait until all envelopes are folded."""
    await publish(log, "s1", items)
    events = await until(log, lambda events: len(events) >= len(items))
    asked = StatusRequest(after=events[-1][0], timeout=60.0)
    await ask(log, ("acme", "s1", "status"), asked, StatusReply, 60.0)


async def test_slices_of_a_body_follow_one_another(replica, log: Connection):
    await settled(log, [result("r", "\n".join(LINES))])
    first = await drilled(log, "r", max_tokens=200)
    assert first.text.startswith(LINES[0])
    assert first.truncated
    assert first.tokens <= 200
    assert (first.item_id, first.session) == ("r", "s1")
    following = await drilled(log, "r", view=first.view, args=first.next, max_tokens=200)
    shown = (first.text + following.text).splitlines()
    assert shown == LINES[: len(shown)]


async def test_a_body_in_the_object_store_and_its_sensitivity(replica, log: Connection):
    body = "\n".join(LINES * 4).encode()
    async with Publisher(log) as publisher:
        reference = await Bodies(log, publisher, "acme").put(body)
    item = ContextItem(
        id="b", kind=ItemKind.TOOL_RESULT, body=reference, sensitivity=Sensitivity.INTERNAL
    )
    await settled(log, [item])
    shown = await drilled(log, "b", view="search", args={"pattern": "line 4711:"})
    assert LINES[4711] in shown.text
    assert shown.sensitivity is Sensitivity.INTERNAL


async def test_a_secret_stays_masked(replica, log: Connection):
    lines = list(LINES)
    lines[3] = f"aws_access_key_id = {SECRET}"
    await settled(log, [result("s", "\n".join(lines))])
    shown = await drilled(log, "s")
    assert LINES[2] in shown.text
    assert SECRET not in shown.text


async def test_what_is_not_there_or_not_ones_own_is_refused(replica, log: Connection):
    await settled(log, [result("r", "\n".join(LINES))])
    with pytest.raises(NotFound, match="art:"):
        await drilled(log, "nothing")
    with pytest.raises(NotFound):
        await drilled(log, "r", tenant="globex")
    with pytest.raises(InvalidInput, match="no view 'x-ray'"):
        await drilled(log, "r", view="x-ray")
    with pytest.raises(InvalidInput, match=r"'\(line' is no regular expression"):
        await drilled(log, "r", view="search", args={"pattern": "(line"})


async def in_force(log: Connection, policy: ContextPolicy) -> None:
    subject = derived_subject("acme", TENANT_SESSION, "context_policy")
    async with Publisher(log) as publisher:
        ack = await publisher.publish(subject, encode_event(policy))
    asked = StatusRequest(after=ack.sequence, timeout=60.0)
    await ask(log, ("acme", "s1", "status"), asked, StatusReply, 60.0)


async def test_floor_and_action_of_the_policy_hold_behind_a_handle_too(replica, log: Connection):
    text = "\n".join(LINES)
    secret = ContextItem("x", ItemKind.TOOL_RESULT, text, sensitivity=Sensitivity.CONFIDENTIAL)
    await settled(log, [secret, result("r", text)])
    with pytest.raises(Forbidden, match="confidential, and the policy in force drops"):
        await drilled(log, "x")
    await in_force(log, ContextPolicy(sensitivity_action=SensitivityAction.REDACT))
    shown = [
        await drilled(log, "x", view="search", args={"pattern": one}) for one in ("line 4711", "no")
    ]
    assert {one.text for one in shown} == {"[REDACTED: confidential]"}
    assert len({msgspec.structs.replace(one, view="").__repr__() for one in shown}) == 1
    assert (await drilled(log, "r")).text.startswith(LINES[0])
    await in_force(log, ContextPolicy(sensitivity_floor=Sensitivity.PUBLIC))
    with pytest.raises(Forbidden):
        await drilled(log, "r")


async def test_a_handle_is_not_told_by_names_alone(replica, log: Connection):
    """Only the deployment's secret makes one, before the envelope and after it."""
    body = "\n".join(LINES * 4).encode()
    async with Publisher(log) as publisher:
        reference = await Bodies(log, publisher, "acme").put(body)
    trusted = ContextItem("t", ItemKind.USER_TURN, body=reference)
    await publish(log, "s1", [trusted])
    await settled(log, [result("r", "\n".join(LINES))])
    for item_id in ("r", "t"):
        assert (await drilled(log, item_id)).item_id == item_id
        guessed = DrilldownRequest(artifact_handle("acme", "s1", item_id))
        with pytest.raises(NotFound):
            await ask(log, ("acme", TENANT_SESSION, "drilldown"), guessed, DrilldownReply, 60.0)


async def test_nobody_looks_into_a_body_without_its_envelope(server, log, tmp_path: Path):
    environ = {"WEFT_NATS_URL": server.url, "WEFT_DATA_DIR": str(tmp_path)}
    async with (
        folding(log, tmp_path),
        started("weft.cli.main", "work", "compiler", **environ) as compiler,
    ):
        await compiler.until_ready()
        [ack] = await publish(log, "s1", [result("r", "RAW")])
        asked = StatusRequest(after=ack.sequence, timeout=60.0)
        await ask(log, ("acme", "s1", "status"), asked, StatusReply, 60.0)
        with pytest.raises(Unavailable, match="no envelope yet"):
            await drilled(log, "r")
