"""`weft backtest` over recorded compiles of several sessions, in one and two processes."""

import msgspec
import pytest
from tests.audited import KEY, SESSION
from tests.integration.command_line import weft
from tests.integration.logged import publish, publish_raw

from weft.audit.backtest_from_log import backtest_policy
from weft.audit.history import LoggedHistories, fresh_model
from weft.compiler.compile import compile_pack
from weft.log.connection import Connection
from weft.log.message import Message
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence
from weft_schemas.compile import CompileRequest
from weft_schemas.errors import NotFound
from weft_schemas.events import ErasedEvent, encode_event
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import ContextItem
from weft_schemas.policy import ContextPolicy, Phase, PhaseRule
from weft_schemas.subjects import audit_subject, derived_subject

NOTHING = ContextPolicy(name="mute", phases=dict.fromkeys(Phase, PhaseRule(kinds=())))


async def compile_and_record(log: Connection, session: str, phase: Phase) -> None:
    """As the service does it, at the log's end."""
    at = await last_sequence(log)
    model = fresh_model(await LoggedHistories(log, "acme", at).of(session), at, "o200k_base")
    made = compile_pack(model.view("acme", session), CompileRequest(phase), key=KEY)
    model.close()
    subject = audit_subject("acme", session, "compiled")
    async with Publisher(log) as publisher:
        await publisher.publish_many(
            [Message(subject, msgspec.json.encode(made.audit), made.audit.id)]
        )


@pytest.fixture
async def sessions(log: Connection) -> Connection:
    for session in ("s1", "s2", "s3"):
        for item in SESSION:
            if isinstance(item, ContextItem):
                await publish(log, session, [item])
            await compile_and_record(log, session, Phase.CALL)
    return log


async def test_every_compile_is_made_again_in_any_number_of_processes(sessions: Connection):
    runs = [
        await backtest_policy(sessions, "acme", NOTHING, KEY, processes) for processes in (1, 2)
    ]
    one, two = (run.summary() for run in runs)
    for name in ("recorded", "proposed", "altered", "differences", "compiles"):
        assert one[name] == two[name]
    assert len(one["processor_seconds"]) == 1
    assert 1 <= len(two["processor_seconds"]) <= 2
    assert min(*one["processor_seconds"], *two["processor_seconds"]) > 0
    assert one["sessions"] == 3
    assert one["compiles"] >= 12
    assert one["selected_otherwise_now"] == 0
    assert one["proposed"]["included"] < one["recorded"]["included"]
    assert one["recorded"]["values"] > 0
    assert await last_sequence(sessions) == 12, "nothing was published"


async def test_the_command_shows_a_table_and_json(sessions: Connection, server, tmp_path):
    file = tmp_path / "small.yaml"
    file.write_text("name: small\nbudgets: {call: 20}\n")
    arguments = ["backtest", "--policy", str(file), "--tenant", "acme", "--processes", "1"]
    ran = await weft(*arguments, "--since", "1h", "--json", url=server.url)
    assert ran.code == 0, ran.err
    assert ran.json["policy"] == "small"
    assert ran.json["proposed"]["tokens"] < ran.json["recorded"]["tokens"]
    shown = await weft(*arguments, url=server.url)
    assert "prefix_stability" in shown.out
    assert "as recorded" in shown.out
    late = await weft(*arguments, "--since", "2126-01-01", url=server.url)
    assert late.code == 4
    assert (await weft(*arguments, "--since", "soon", url=server.url)).code == 2


async def test_an_erased_session_is_left_out_and_counted(sessions: Connection):
    subject = derived_subject("acme", TENANT_SESSION, "erased")
    await publish_raw(sessions, subject, encode_event(ErasedEvent("s2")))
    found = (await backtest_policy(sessions, "acme", NOTHING, KEY, 1)).summary()
    assert found["sessions"] == 2
    assert found["skipped"]["erased"] >= 4
    with pytest.raises(NotFound, match="'nobody'"):
        await backtest_policy(sessions, "nobody", NOTHING, KEY, 1)
