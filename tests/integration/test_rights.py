"""Who may ask for what: a request tightens the policy in force, an operator may loosen it."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from tests.integration.folding import folding
from tests.integration.processes import started

from weft.client import Client
from weft.log.connection import Connection
from weft.log.reading import read_matching
from weft.runtime.settings import Settings
from weft_schemas.compile import CompileAudit, CompileRequest
from weft_schemas.errors import Forbidden
from weft_schemas.ids import OPERATOR
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, Phase
from weft_schemas.subjects import AUDIT_STREAM

SECRET = "the merger is on Friday"
WIDE = ContextPolicy(sensitivity_floor=Sensitivity.RESTRICTED)


@pytest.fixture
async def client(server, log: Connection, tmp_path: Path) -> AsyncIterator[Client]:
    environ = {"WEFT_NATS_URL": server.url, "WEFT_DATA_DIR": str(tmp_path)}
    async with (
        folding(log, tmp_path),
        started("weft.cli.main", "work", "compiler", **environ) as compiler,
        Client(Settings(nats_url=server.url, tenant="acme")) as client,
    ):
        await compiler.until_ready()
        yield client


async def test_only_an_operator_loosens_the_policy_in_force(server, log, client: Client) -> None:
    secret = ContextItem("u", ItemKind.USER_TURN, SECRET, sensitivity=Sensitivity.CONFIDENTIAL)
    first = await client.publish("s", secret)
    second = await client.publish("s", ContextItem("v", ItemKind.USER_TURN, "hello"))
    asked = {"after": second.sequence, "timeout": 60.0}
    with pytest.raises(Forbidden, match="sensitivity_floor: restricted is above confidential"):
        await client.compile("s", "answer", policy=WIDE, **asked)
    with pytest.raises(Forbidden):
        await client.explain("s", "u", CompileRequest(Phase.ANSWER, policy=WIDE))
    strict = ContextPolicy(sensitivity_floor=Sensitivity.PUBLIC)
    assert (await client.compile("s", "answer", policy=strict, **asked)).entries == ()

    settings = Settings(nats_url=server.url, tenant="acme", principal=OPERATOR)
    async with Client(settings) as operator:
        assert SECRET in (await operator.compile("s", "answer", policy=WIDE, **asked)).prompt
        # What was open once is no way around what is in force.
        await client.publish_policy(WIDE)
        then = (await client.publish_policy(ContextPolicy())).sequence
        asked["after"] = then
        assert SECRET not in (await client.compile("s", "answer", **asked)).prompt
        past = {"as_of": then - 1, "timeout": 60.0}
        with pytest.raises(Forbidden, match=f"the policy as of {then - 1} shows more"):
            await client.compile("s", "answer", **past)
        assert SECRET in (await operator.compile("s", "answer", **past)).prompt
        assert (await client.compile("s", "answer", as_of=first.sequence)).entries == ()

    audits = [
        msgspec.json.decode(record.payload, type=CompileAudit)
        async for record in read_matching(log, "weft-audit.acme.s.>", stream=AUDIT_STREAM)
    ]
    loosened = [(one.principal, one.loosened) for one in audits if one.loosened]
    assert loosened == 2 * [(OPERATOR, ("sensitivity_floor: restricted is above confidential",))]
    assert {one.principal for one in audits if not one.loosened} == {msgspec.UNSET}
