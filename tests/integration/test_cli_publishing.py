"""`weft publish`, `events`, `policy` and `status` on a real server, as processes."""

import json
from pathlib import Path

import msgspec
import pytest
from tests.integration.command_line import weft

from weft.erasure.records import publish_own
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence, read_session
from weft.snapshots.trim_mark import write_mark
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.events import ErasedEvent
from weft_schemas.items import ItemKind
from weft_schemas.policy import ContextPolicy

CHAT = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "weather?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "w", "arguments": '{"c": "Oslo"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c", "content": "3 degrees"},
]


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(CHAT))
    return file


async def test_a_chat_becomes_a_session_once(
    server: EmbeddedServer, log: Connection, chat: Path
) -> None:
    first = await weft("publish", str(chat), "--session", "s1", url=server.url)
    assert (first.code, first.out) == (0, "s1: 4 items, up to sequence 4\n")
    assert first.err == "", "no bar, nor its empty line, where nobody looks"
    again = await weft("publish", str(chat), "-s", "s1", "--json", url=server.url)
    assert again.json == {
        "session": "s1", "sequence": 4, "first": 5, "count": 4, "duplicates": 4, "left_out": {},
    }  # fmt: skip
    kinds = [record.address().event async for record in read_session(log, "default", "s1")]
    assert kinds == ["policy", "user_turn", "tool_call", "tool_result"]


async def test_media_that_are_left_out_are_counted(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    report = {"type": "file", "file": {"file_id": "file-7", "filename": "report.pdf"}}
    parts = [{"type": "text", "text": "What is this?"}, picture, picture, report]
    file = tmp_path / "seen.json"
    file.write_text(json.dumps([{"role": "user", "content": parts}]))
    done = await weft("publish", str(file), "-s", "s1", url=server.url)
    assert done.out.splitlines() == [
        "s1: 1 item, up to sequence 1",
        "s1: 2 images and 1 file are left out; placeholders name them",
    ]
    shown = await weft("publish", str(file), "-s", "s2", "--json", url=server.url)
    assert shown.json["left_out"] == {"image": 2, "file": 1}
    [record] = [each async for each in read_session(log, "default", "s1")]
    assert "iVBOR" not in record.event().text
    assert "[file left out: report.pdf, file-7]" in record.event().text


async def test_stdin_and_tenant_are_taken(server: EmbeddedServer, log: Connection) -> None:
    line = b'{"id": "a", "kind": "user_turn", "text": "hi"}\n'
    arguments = ["publish", "-", "--session", "s1", "--tenant", "acme", "--close"]
    done = await weft(*arguments, url=server.url, given=line)
    assert done.code == 0
    kinds = [record.address().event async for record in read_session(log, "acme", "s1")]
    assert kinds == ["user_turn", "session_closed"]


async def test_a_malformed_file_publishes_nothing(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text('{"id": "a", "kind": "user_turn"}\n{"id": "b", "kind": "dream"}\n')
    done = await weft("publish", str(file), "--session", "s1", url=server.url)
    assert done.code == 2
    assert done.err == (
        f"weft: {file}, line 2: $.kind: invalid enum value 'dream'; use {', '.join(ItemKind)}; "
        "nothing was published\n"
    )
    assert await last_sequence(log) == 0


async def test_a_file_of_many_asks_which(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    file = tmp_path / "runs.json"
    file.write_text(json.dumps([{"messages": CHAT}, {"messages": CHAT[:2]}]))
    asked = await weft("publish", str(file), "-s", "run", url=server.url)
    assert asked.code == 2
    assert "holds 2 transcripts; choose one with --transcript 0 to 1" in asked.err
    one = await weft("publish", str(file), "-s", "run", "--transcript", "1", url=server.url)
    assert one.out == "run: 2 items, up to sequence 2\n"
    each = await weft("publish", str(file), "-s", "run", "--each", url=server.url)
    assert each.out.splitlines() == [
        "run-0: 4 items, up to sequence 6",
        "run-1: 2 items, up to sequence 8",
    ]


async def test_events_are_shown_for_people_and_programs(
    server: EmbeddedServer, log: Connection, chat: Path
) -> None:
    await weft("publish", str(chat), "-s", "s1", url=server.url)
    shown = await weft("events", "-s", "s1", "--from", "3", url=server.url)
    assert [line.split()[0] for line in shown.out.splitlines()] == ["3", "4"]
    assert 'w({"c":"Oslo"})' in shown.out
    lines = (await weft("events", "-s", "s1", "--json", url=server.url)).out.splitlines()
    last = json.loads(lines[-1])
    assert (last["sequence"], last["event"]["text"]) == (4, "3 degrees")


async def test_an_unknown_session_is_not_found(server: EmbeddedServer, log: Connection) -> None:
    done = await weft("events", "--session", "nobody", url=server.url)
    assert (done.code, done.out) == (4, "")
    assert done.err == (
        "weft: session 'nobody' of tenant 'default' has no events; is it spelt right?\n"
    )
    async with Publisher(log) as publisher:
        await publish_own(publisher, "default", ErasedEvent("gone"))
    done = await weft("events", "--session", "gone", url=server.url)
    assert "has no events: it was erased by event 1\n" in done.err
    await write_mark(log, 5)
    done = await weft("events", "--session", "nobody", url=server.url)
    assert "has no events: the log was trimmed before event 5" in done.err


async def test_a_policy_is_an_event_of_the_tenant(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    file = tmp_path / "policy.json"
    file.write_text('{"name": "strict", "sensitivity_floor": "internal"}')
    done = await weft("policy", "publish", str(file), url=server.url)
    assert done.out == "policy 'strict' is in force for tenant default from sequence 1\n"
    (record,) = [each async for each in read_session(log, "default", "@tenant")]
    policy = record.event()
    assert isinstance(policy, ContextPolicy)
    assert policy.sensitivity_floor == "internal"
    await weft("policy", "publish", str(file), url=server.url)
    assert await last_sequence(log) == 2, "a policy published again is in force again"


async def test_a_policy_with_an_unknown_redaction_hook_is_refused(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    file = tmp_path / "policy.json"
    file.write_text('{"name": "own", "redaction_hook": "acme"}')
    done = await weft("policy", "publish", str(file), url=server.url)
    assert (done.code, await last_sequence(log)) == (2, 0)
    assert "redaction_hook 'acme' is not installed here; use one of mask" in done.err
    arguments = ("policy", "publish", str(file), "--hook-elsewhere")
    assert (await weft(*arguments, url=server.url)).code == 0
    told = await weft("doctor", "--json", "--data", str(tmp_path), url=server.url)
    (check,) = [one for one in told.json if one["name"] == "redaction hooks"]
    assert check["state"] == "note"
    assert "policy 'own' of the tenant names the hook 'acme'" in check["found"]
    file.write_text('{"name": "own"}')
    assert (await weft("policy", "publish", str(file), url=server.url)).code == 0
    told = await weft("doctor", "--json", "--data", str(tmp_path), url=server.url)
    assert "redaction hooks" not in [one["name"] for one in told.json]


async def test_the_policy_in_force_is_shown_for_a_tenant_a_session_and_a_moment(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    shown = await weft("policy", "show", url=server.url)
    assert msgspec.convert(shown.json, ContextPolicy) == ContextPolicy()
    assert shown.err == "no policy of tenant default is in the log: the default is in force\n"
    for name, session in (("one", None), ("two", None), ("own", "s1")):
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps({"name": name, "session": session}))
        assert (await weft("policy", "publish", str(file), url=server.url)).code == 0
    shown = await weft("policy", "show", url=server.url)
    assert shown.json["name"] == "two"
    assert shown.err == "policy 'two' of tenant default, in force from sequence 2\n"
    for arguments, expected in (
        (["--as-of", "1"], ("tenant", 1, "one")),
        (["--session", "s1"], ("session", 3, "own")),
        (["--session", "s1", "--as-of", "2"], ("tenant", 2, "two")),
        (["--session", "s2"], ("tenant", 2, "two")),
        (["--tenant", "acme"], ("default", 0, "default")),
    ):
        found = (await weft("policy", "show", *arguments, "--json", url=server.url)).json
        assert (found["from"], found["sequence"], found["policy"]["name"]) == expected
    session = await weft("policy", "show", "--session", "s1", url=server.url)
    assert session.err == "policy 'own' of session s1, in force from sequence 3\n"


async def test_what_the_tenants_policy_overrules_is_told(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    file = tmp_path / "policy.json"
    file.write_text('{"name": "all", "sensitivity_floor": "internal"}')
    assert (await weft("policy", "publish", str(file), url=server.url)).err == ""
    file.write_text('{"name": "own", "session": "s1", "budgets": {"answer": 900}}')
    done = await weft("policy", "publish", str(file), url=server.url)
    assert done.out == "policy 'own' is in force for session s1 from sequence 2\n"
    assert done.err.startswith("the tenant's policy is stricter in sensitivity_floor: there it")
    shown = await weft("policy", "show", "--session", "s1", url=server.url)
    held = json.loads(shown.out)
    assert (held["name"], held["budgets"]["answer"]) == ("own", 900)
    assert held["sensitivity_floor"] == "internal"


async def test_names_that_a_policy_lets_through_are_told(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("firewall:\n  harmless_names: [device_token, '*_ticket']\n")
    done = await weft("policy", "publish", str(file), url=server.url)
    names = "not masked because of their names: device_token, *_ticket (firewall.harmless_names)\n"
    assert (done.code, done.err) == (0, names)
    shown = await weft("policy", "show", url=server.url)
    assert json.loads(shown.out)["firewall"]["harmless_names"] == ["device_token", "*_ticket"]
    file.write_text("session: s1\nfirewall: {harmless_names: [device_token, invite_token]}\n")
    done = await weft("policy", "publish", str(file), url=server.url)
    assert "the tenant's policy is stricter in firewall.harmless_names: there it" in done.err
    shown = await weft("policy", "show", "--session", "s1", url=server.url)
    assert json.loads(shown.out)["firewall"]["harmless_names"] == ["device_token"]
    file.write_text("firewall: {harmless_names: ['*']}\n")
    done = await weft("policy", "publish", str(file), url=server.url)
    assert done.code == 2
    assert "harmless_names: '*' names no field; give the field's name" in done.err


async def test_a_policy_file_is_shown_in_full_without_a_server(tmp_path: Path) -> None:
    file = tmp_path / "strict.yaml"
    file.write_text("sensitivity_floor: internal\n")
    shown = await weft("policy", "show", str(file), url="nats://127.0.0.1:1")
    assert (shown.json["sensitivity_floor"], shown.json["sensitivity_action"]) == (
        "internal",
        "drop",
    )
    both = await weft("policy", "show", str(file), "--session", "s1")
    assert both.code == 2
    assert "FILE" in both.err


async def test_status_without_services_shows_the_log_and_says_what_is_missing(
    server: EmbeddedServer, log: Connection, chat: Path
) -> None:
    await weft("publish", str(chat), "-s", "s1", url=server.url)
    found = (await weft("status", "--json", url=server.url)).json
    assert [(one["name"], one["last"]) for one in found["streams"]] == [
        ("weft", 4), ("weft_audit", 0),
    ]  # fmt: skip
    assert {one["name"]: one["lag"] for one in found["consumers"]} == {
        "firewall": 4, "summarizer": 4, "memory": 4,
    }  # fmt: skip
    assert found["read_model"] is None
    assert found["processes"] == []
    first, *others = found["notes"]
    assert first.startswith("the read model cannot be asked: no service answers status; start the ")
    assert [note.partition(" answers")[0] for note in others] == [
        "no firewall", "no summarizer", "no memory", "no indexer", "no compiler",
    ]  # fmt: skip
    shown = await weft("status", url=server.url)
    assert (shown.code, "consumers" in shown.out) == (1, True)


async def test_ctrl_c_ends_a_command_quietly(
    server: EmbeddedServer, log: Connection, chat: Path
) -> None:
    await weft("publish", str(chat), "-s", "s1", url=server.url)
    done = await weft("events", "-s", "s1", "--follow", url=server.url, interrupt_after=4)
    assert (done.code, len(done.out.splitlines()), done.err.strip()) == (130, 4, "")
