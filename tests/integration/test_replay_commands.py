"""The replay commands as a user types them, against running services."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest
import pytest_asyncio
from tests.integration.command_line import services, weft

from weft.log.connection import connect
from weft.log.publishing import Publisher

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
    assert (await weft("dlq", "replay", source, "--json", url=up.url)).code == 0
    while not (found := (await weft("dlq", "list", "--json", url=up.url)).json):
        pass
    assert found[0]["times"] == 2
    dropped = await weft("dlq", "drop", "--all", url=up.url)
    assert f"{source} of session s9 (firewall): dropped" in dropped.out
    assert "nothing is parked" in (await weft("dlq", "list", url=up.url)).err
    assert (await weft("dlq", "replay", "1", url=up.url)).code == 4
    assert (await weft("dlq", "replay", url=up.url)).code == 2
