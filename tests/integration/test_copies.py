"""Export, import and fork on real logs, with live workers beside them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from tests.folded import session_digest
from tests.integration.indexer_process import publish
from tests.integration.logged import until_finished
from tests.integration.test_worker_services import working

from weft.copies.copying import copy_id
from weft.copies.exporting import Exported, export
from weft.copies.forking import fork
from weft.copies.importing import import_
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence, read_matching, read_session
from weft.log.topology import provision
from weft.log.transport import connect
from weft.readmodel.model import ReadModel
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import Conflict, InvalidInput, NotFound
from weft_schemas.events import EpisodeEvent, ErasedEvent, SessionClosedEvent
from weft_schemas.ids import TENANT_SESSION, SessionName
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy
from weft_schemas.subjects import stored_filter

WORKERS = ("firewall", "summarizer", "memory")
ITEMS = [
    ContextItem("u", ItemKind.USER_TURN, "My timezone is UTC.", metadata={"scope": "user:42"}),
    ContextItem("c", ItemKind.TOOL_CALL, "get_user()", metadata={"tool_name": "get_user"}),
    ContextItem("r", ItemKind.TOOL_RESULT, '{"user_id": "mia_li", "plan": "gold"}', parent_id="c"),
    ContextItem("a", ItemKind.AGENT_MSG, " ".join(f"Shipment {n} goes." for n in range(400))),
    ContextItem("a", ItemKind.AGENT_MSG, "other content under a taken id"),
]


async def read_model(log: Connection) -> ReadModel:
    return ReadModel.in_memory([record async for record in read_matching(log, ">")])


async def settled(log: Connection) -> None:
    """Wait until every worker has finished everything."""
    while True:
        before = await last_sequence(log)
        for worker in WORKERS:
            await until_finished(log, worker)
        if await last_sequence(log) == before:
            return


async def worked_session(server: EmbeddedServer, log: Connection, session: str = "s") -> None:
    """A session with everything that workers derive, a closing and a large body."""
    async with Publisher(log) as publisher:
        body = await Bodies(log, publisher, "t").put(b"a row of a large table\n" * 20_000)
    large = ContextItem("large", ItemKind.TOOL_RESULT, parent_id="c", body=body)
    await publish(log, "noise", [ContextItem("n", ItemKind.USER_TURN, "beside it")])
    async with working(server.url, *WORKERS):
        await publish(log, session, [*ITEMS, large])
        await settled(log)
        await publish(log, session, [SessionClosedEvent()])
        await settled(log)
    episodes = [r async for r in read_session(log, "t", session, event="episode")]
    assert episodes


async def exported(log: Connection, session: str | None = "s") -> tuple[Exported, bytes]:
    file = io.BytesIO()
    done = await export(log, "t", session, file)
    return done, file.getvalue()


@pytest.fixture
async def other(tmp_path: Path):
    """Another log, with workers of its own, and something in it already."""
    async with EmbeddedServer(tmp_path / "other") as server:
        connection = await connect(server.url)
        await provision(connection)
        await publish(connection, "before", [ContextItem("b", ItemKind.USER_TURN, "first")] * 3)
        async with working(server.url, *WORKERS):
            yield connection
        await connection.close()


async def test_an_imported_session_has_the_digest_of_the_original_and_nothing_derives_again(
    server: EmbeddedServer, log: Connection, other: Connection
) -> None:
    await worked_session(server, log)
    done, content = await exported(log)
    assert done.bodies == 1
    copy = await import_(other, io.BytesIO(content), "t")
    assert copy.equal
    assert copy.digest == done.digest
    await settled(other)
    count = len([r async for r in read_session(other, "t", "s")])
    assert count == done.records == len([r async for r in read_session(log, "t", "s")])
    original, model = await read_model(log), await read_model(other)
    assert session_digest(model.db, "t", "s") == session_digest(original.db, "t", "s") != ""
    rows = model.view("t", "s").recent(9)
    assert [row.text for row in rows] == [row.text for row in original.view("t", "s").recent(9)]
    assert not any(row.pending for row in rows)
    assert (await exported(other))[0].digest == done.digest


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("session", "@tenant"),
        ("session", "another"),
        ("direction", "in.0.t.another"),
        ("event", "context_policy.x"),
        ("event", "a b"),
        ("base64", "no base64"),
    ],
)
async def test_the_import_of_a_session_touches_that_session_alone(
    server: EmbeddedServer, log: Connection, field: str, value: str
) -> None:
    await publish(log, "s", [ContextItem("u", ItemKind.USER_TURN, "hello")])
    _, content = await exported(log)
    lines = [json.loads(line) for line in content.splitlines()]
    forged = {**lines[1], field: value}
    file = b"\n".join(json.dumps(line).encode() for line in [lines[0], forged, *lines[2:]])
    last = await last_sequence(log)
    with pytest.raises(InvalidInput):
        await import_(log, io.BytesIO(file), "new")
    with pytest.raises(InvalidInput):
        await import_(log, io.BytesIO(content), "new", "@tenant")
    assert await last_sequence(log) == last


async def test_an_import_is_whole_where_another_took_its_ids(
    server: EmbeddedServer, log: Connection
) -> None:
    await publish(log, "s", [ContextItem(f"u{n}", ItemKind.USER_TURN, "hello") for n in range(3)])
    _, content = await exported(log)
    async with Publisher(log) as publisher:
        async for record in read_session(log, "t", "s"):
            id = copy_id(SessionName("new", "s"), record)
            await publisher.publish("weft.rival.s.in.user_turn", b"{}", id)
    copy = await import_(log, io.BytesIO(content), "new")
    assert copy.equal
    assert len([r async for r in read_session(log, "new", "s")]) == 3


async def test_an_import_made_again_goes_on_and_changes_nothing(
    server: EmbeddedServer, log: Connection, other: Connection
) -> None:
    await worked_session(server, log)
    _, content = await exported(log)
    takes = 0

    def dies(at: int, last: int) -> None:
        nonlocal takes
        takes += 1
        if takes == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await import_(other, io.BytesIO(content), "t", None, dies)
    first = await import_(other, io.BytesIO(content), "t")
    last = await last_sequence(other)
    again = await import_(other, io.BytesIO(content), "t")
    assert first.equal
    assert again.equal
    await settled(other)
    assert await last_sequence(other) == last


async def test_a_session_imported_under_another_name_is_like_the_original(
    server: EmbeddedServer, log: Connection
) -> None:
    await worked_session(server, log)
    done, content = await exported(log)
    with pytest.raises(Conflict, match="already"):
        await import_(log, io.BytesIO(content), "t")
    copy = await import_(log, io.BytesIO(content), "t", "twin")
    assert copy.equal
    assert (await exported(log, "twin"))[0].digest == done.digest
    model = await read_model(log)
    shown = {row.id: row.text for row in model.view("t", "twin").recent(9)}
    assert shown == {row.id: row.text for row in model.view("t", "s").recent(9)}


async def test_a_tenant_moves_with_its_policies(
    server: EmbeddedServer, log: Connection, other: Connection
) -> None:
    await publish(log, TENANT_SESSION, [ContextPolicy(name="strict")])
    await worked_session(server, log)
    await publish(log, "s2", [ContextItem("x", ItemKind.USER_TURN, "another session")])
    _, content = await exported(log, None)
    await publish(other, "theirs", [ContextItem("b", ItemKind.USER_TURN, "u")], tenant="rival")
    copy = await import_(other, io.BytesIO(content), "moved")
    assert copy.equal
    assert copy.sessions == 4
    await settled(other)
    original, model = await read_model(log), await read_model(other)
    for session in ("s", "s2", "noise"):
        assert model.view("moved", session).item_count()
        same = session_digest(original.db, "t", session)
        if session != "s":  # its envelopes' handles are of the other tenant
            assert session_digest(model.db, "moved", session) == same
    assert model.view("moved", "s").policy()[1].name == "strict"


async def test_damage_is_noticed(server: EmbeddedServer, log: Connection, other) -> None:
    await worked_session(server, log)
    _, content = await exported(log)
    last = await last_sequence(other)
    cut = content.splitlines(keepends=True)[0] + b"{}\n"
    with pytest.raises(InvalidInput, match="line 2"):
        await import_(other, io.BytesIO(cut), "t")
    changed = content.replace(b"timezone", b"tomezone")
    with pytest.raises(InvalidInput, match="was changed: its digest is another"):
        await import_(other, io.BytesIO(changed), "t", "changed")
    assert await last_sequence(other) == last
    with pytest.raises(NotFound):
        await exported(log, "nobody")


async def test_a_fork_is_the_session_as_it_was_and_goes_its_own_way(
    server: EmbeddedServer, log: Connection
) -> None:
    await worked_session(server, log)
    items = [r.sequence async for r in read_matching(log, stored_filter("t", "s", "in"))]
    at = items[2]  # the tool result; its envelope came later
    done = await fork(log, "t", "s", at, "other way")
    assert (done.items, done.source) == (3, "s")
    async with working(server.url, *WORKERS):
        await settled(log)
        assert await last_sequence(log) == done.last
        more = ContextItem("new", ItemKind.USER_TURN, "Now another way.")
        await publish(log, "other way", [more])
        await settled(log)
    model = await read_model(log)
    view = model.view("t", "other way")
    rows = view.recent(9)
    assert [row.id for row in rows] == ["new", "r", "c", "u"]
    assert not rows[1].pending
    originals = {row.id: row.text for row in model.view("t", "s").recent(9)}
    assert {row.id: row.text for row in rows[1:]} == {id: originals[id] for id in ("u", "c", "r")}
    assert rows[3].metadata["forked_from"] == {"session": "s", "sequence": items[0], "at": at}
    assert rows[3].metadata["occurred_at"].startswith("20")
    facts = view.facts(["session:other way"])
    assert ("user_timezone", "UTC") in [(fact.key, fact.value) for fact in facts]
    assert model.view("t", "s").item_count() == 5


async def test_a_fork_of_the_whole_has_its_episode_and_teaches_no_other_session(
    server: EmbeddedServer, log: Connection
) -> None:
    await worked_session(server, log)
    before = (await read_model(log)).view("t", "s").facts(["user:42"])
    done = await fork(log, "t", "s", await last_sequence(log), "twin")
    [episode] = [r.event() async for r in read_session(log, "t", "twin", event="episode")]
    assert isinstance(episode, EpisodeEvent)
    assert episode.scope == "session:twin"
    assert before
    assert (await read_model(log)).view("t", "s").facts(["user:42"]) == before
    again = await fork(log, "t", "s", done.at, "twin")
    assert (again.first, again.last) == (done.first, done.last)


async def test_a_fork_needs_a_free_name_and_something_to_copy(
    server: EmbeddedServer, log: Connection
) -> None:
    await publish(log, "s", ITEMS[:1])
    await publish(log, "taken", ITEMS[:1])
    with pytest.raises(Conflict, match="already"):
        await fork(log, "t", "s", 1, "taken")
    with pytest.raises(NotFound, match="no event up to 1"):
        await fork(log, "t", "taken", 1, "new")
    with pytest.raises(InvalidInput, match="ends at 2"):
        await fork(log, "t", "s", 9, "new")
    await publish(log, TENANT_SESSION, [ErasedEvent("gone")])
    with pytest.raises(Conflict, match="erased"):
        await fork(log, "t", "s", 1, "gone")
