"""Copies, erasures, snapshots and dead letters by command, against running services."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest
import pytest_asyncio
from tests.integration.command_line import services, weft

from weft.log.publishing import Publisher
from weft.log.transport import connect

pytestmark = pytest.mark.asyncio(loop_scope="module")

ITEMS = [
    {"id": "u1", "kind": "user_turn", "text": "Which order is late?"},
    {"id": "a1", "kind": "agent_msg", "text": "Order A-17 is late."},
    {"id": "u2", "kind": "user_turn", "text": "And which is early?"},
]


class Up(NamedTuple):
    url: str
    folder: Path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def up(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Up]:
    """Everything running, with a session `s1` of three turns."""
    folder = tmp_path_factory.mktemp("up") / "data"
    async with services(folder) as url:
        given = "\n".join(json.dumps(item) for item in ITEMS).encode()
        assert (await weft("publish", "-", "--session", "s1", url=url, given=given)).code == 0
        yield Up(url, folder)


async def test_a_session_goes_out_and_comes_in_again_under_another_name(up: Up, tmp_path) -> None:
    file = str(tmp_path / "s1.jsonl")
    out = await weft("export", file, "-s", "s1", "--json", url=up.url)
    assert out.code == 0, out.err
    back = await weft("import", file, "--as", "s1 copy", "--json", url=up.url)
    assert back.code == 0, back.err
    assert back.json["digest"] == back.json["expected"] == out.json["digest"]
    last = str(back.json["last"])
    done = await weft(
        "compile", "-s", "s1 copy", "-p", "answer", "--json",
        "--after", last, "--timeout", "60", url=up.url
    )  # fmt: skip
    assert sorted(done.json["stats"]["included_items"]) == ["a1", "u1", "u2"]
    taken = await weft("import", file, url=up.url)
    assert (taken.code, "another name" in taken.err) == (6, True)
    piped = await weft("export", "-", "-s", "s1", url=up.url)
    assert len(piped.out.splitlines()) == out.json["records"] + 2
    again = await weft("import", "-", "--as", "piped", url=up.url, given=piped.out.encode())
    assert again.code == 0, again.err


async def test_an_export_that_fails_leaves_no_file_and_an_earlier_one_as_it_was(
    up: Up, tmp_path: Path
) -> None:
    file = tmp_path / "nobody.jsonl"
    failed = await weft("export", str(file), "-s", "nobody", url=up.url)
    assert failed.code == 4
    assert os.listdir(tmp_path) == []
    file.write_text("an earlier export")
    await weft("export", str(file), "-s", "nobody", url=up.url)
    assert file.read_text() == "an earlier export"
    done = await weft("export", str(file), "-s", "s1", url=up.url)
    assert (done.code, os.listdir(tmp_path)) == (0, [file.name])
    away = tmp_path / "no" / "s1.jsonl"
    missing = await weft("export", str(away), "-s", "s1", url=up.url)
    assert missing.code == 2
    assert missing.err.endswith(f"weft: {away}: No such file or directory\n")


async def test_an_import_of_what_is_there_says_so(up: Up, tmp_path: Path) -> None:
    file = str(tmp_path / "s1.jsonl")
    await weft("export", file, "-s", "s1", url=up.url)
    first = await weft("import", file, "--as", "twice", url=up.url)
    again = await weft("import", file, "--as", "twice", url=up.url)
    assert (first.code, "up to sequence" in first.out) == (0, True)
    assert (again.code, "bodies, all there before; digest" in again.out) == (0, True)


@pytest.mark.parametrize("answer", [b"n\n", b""], ids=["no", "the input ends"])
async def test_an_erasure_that_is_answered_with_no_ends_with_one_and_erases_nothing(
    up: Up, answer: bytes
) -> None:
    given = b'{"id":"u","kind":"user_turn","text":"hello"}'
    assert (await weft("publish", "-", "-s", "kept", url=up.url, given=given)).code == 0
    done = await weft("erase", "-s", "kept", url=up.url, given=answer)
    assert (done.code, "nothing was erased" in done.err) == (1, True)
    assert "hello" in (await weft("events", "-s", "kept", url=up.url)).out


async def test_a_full_disk_is_named_with_what_to_do(up: Up) -> None:
    failed = await weft("export", "/dev/full", "-s", "s1", url=up.url)
    assert failed.code == 70
    assert "no space is left on a disk that this command writes to" in failed.err


async def test_a_damaged_export_is_refused_by_line(up: Up, tmp_path) -> None:
    (tmp_path / "bad.jsonl").write_text("{}\n")
    bad = await weft("import", str(tmp_path / "bad.jsonl"), url=up.url)
    assert (bad.code, "line 1" in bad.err) == (2, True)
    missing = await weft("import", str(tmp_path / "none.jsonl"), url=up.url)
    assert (missing.code, "No such file" in missing.err) == (2, True)


async def test_a_fork_by_command(up: Up) -> None:
    done = await weft("fork", "s1", "--at", "2", "s1-way", "--json", url=up.url)
    assert done.code == 0, done.err
    assert (done.json["items"], done.json["at"]) == (2, 2)
    after = ["--after", str(done.json["last"]), "--timeout", "60"]
    pack = await weft("compile", "-s", "s1-way", "-p", "answer", "--json", *after, url=up.url)
    assert sorted(pack.json["stats"]["included_items"]) == ["a1", "u1"]
    assert (await weft("fork", "s1", "--at", "2", "s1", url=up.url)).code == 6
    assert (await weft("fork", "nobody", "--at", "2", "x", url=up.url)).code == 4


async def test_snapshots_by_command(up: Up) -> None:
    made = await weft("snapshot", "--data", str(up.folder), "--json", url=up.url)
    assert made.code == 0, made.err
    listed = await weft("snapshot", "--list", "--json", url=up.url)
    assert listed.json[0]["digest"] == made.json[0]["digest"]
    rebuilt = await weft(
        "rebuild", "--from", "snapshot", "--verify", "--data", str(up.folder), "--json", url=up.url
    )
    assert rebuilt.code == 0, rebuilt.err
    assert rebuilt.json["equal"]
    refused = await weft("trim", "--before", "99999", url=up.url)
    assert (refused.code, "weft snapshot" in refused.err) == (2, True)


async def test_dead_letters_by_command(up: Up) -> None:
    connection = await connect(up.url)
    async with Publisher(connection) as publisher:
        ack = await publisher.publish("weft.default.s9.in.tool_result", b'{"type":"item"}')
    await connection.close()
    source = str(ack.sequence)
    found = []
    while not found:
        found = (await weft("dlq", "list", "--json", url=up.url)).json
    assert [(one["sequence"], one["worker"]) for one in found] == [(ack.sequence, "firewall")]
    shown = await weft("dlq", "show", source, url=up.url)
    assert '{"type":"item"}' in shown.out
    assert "firewall: invalid_input" in shown.out
    assert "source: weft.default.s9.in.tool_result, 15 bytes" in shown.out
    assert (await weft("dlq", "replay", source, "--json", url=up.url)).code == 0
    while not (found := (await weft("dlq", "list", "--json", url=up.url)).json):
        pass
    assert found[0]["times"] == 2
    dropped = await weft("dlq", "drop", "--all", url=up.url)
    assert f"{source} of session s9 (firewall): dropped" in dropped.out
    assert "nothing is parked" in (await weft("dlq", "list", url=up.url)).err
    assert (await weft("dlq", "replay", "1", url=up.url)).code == 4
    assert (await weft("dlq", "replay", url=up.url)).code == 2
