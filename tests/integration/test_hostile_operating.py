"""What an agent publishes keeps no operator from his work: after hostile events, and references to
bodies that are none, every command that goes through the log still does what it is for."""

import json
import os
from pathlib import Path

from tests.integration.command_line import Ran, services, weft
from tests.integration.raw import publish_each
from tests.integration.test_erasure import connected, files_with, put
from tests.integration.test_hostile_events import HOSTS, hostile, publish_all

from weft.log.bodies import Bodies
from weft.log.reading import last_sequence
from weft_schemas.items import ContextItem, ItemKind

SEED = int(os.environ.get("WEFT_SEED") or 20_260_106)
COUNT = 1_500 if os.environ.get("WEFT_SEED") else 500
"""More by `make attack` and `make fuzz`, which name their seeds."""
TURN = b'{"type":"item","id":"turn","kind":"user_turn","text":"Who is owned?"}'
CANARY = "zanzibarquetzal"
NO_DIGESTS = ("", "x", "../../etc", "A" * 64, "0" * 63, "0" * 64 + "\n", "é" * 64, CANARY, "\x00")
"""What an agent writes where the digest of a body belongs."""
ODD_METADATA = (
    {"forked_from": "s"},
    {"forked_from": {"session": 7}},
    {"forked_from": ["s"]},
    {"forked_from": {}},
    {"scope": 3},
    [],
)
"""What makes no fork, beside a body that is there."""


def references(session: str) -> list[tuple[bytes, bytes, bytes]]:
    """Items whose body is none, of every kind."""
    rows = []
    for number, sha256 in enumerate(NO_DIGESTS):
        for kind in ItemKind:
            item = {"type": "item", "id": f"{kind}{number}", "kind": kind}
            item["body"] = {"sha256": sha256, "size": 3}
            subject = f"weft.acme.{session}.in.{kind}".encode()
            rows.append((subject, b"", json.dumps(item).encode()))
    return rows


def deep(session: str) -> list[tuple[bytes, bytes, bytes]]:
    """Results that hold JSON too deep to be gone through, or only just not."""
    subject, rows = f"weft.acme.{session}.in.tool_result".encode(), []
    for depth in (900, 5_000, 100_000):
        text = "[" * depth + "]" * depth
        item = {"type": "item", "id": f"deep{depth}", "kind": "tool_result", "text": text}
        rows += [(subject, b"", json.dumps(item).encode()), (subject, b"", text.encode())]
    return rows


async def test_a_session_with_a_reference_to_nothing_is_exported_and_erased(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with services(folder, "--router", "0", "--summarizer", "0") as url:
        rows = [one for one in references("s") if b"tool_result" in one[0]]
        assert await publish_each(url, rows) == len(rows)
        item = {"type": "item", "id": "r", "kind": "tool_result", "text": CANARY}
        await publish_each(url, [(b"weft.acme.s.in.tool_result", b"", json.dumps(item).encode())])
        for command in (
            ["export", str(tmp_path / "s.jsonl"), "--session", "s"],
            ["erase", "--session", "s", "--yes"],
        ):
            done = await weft(*command, "--tenant", "acme", "--json", url=url)
            assert done.code == 0, done.err
        assert files_with(folder, CANARY) == []


async def test_metadata_hides_no_body_from_an_erasure(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    up = services(folder, "--router", "0", "--summarizer", "0")
    async with up as url, connected(url) as (connection, publisher):
        bodies = Bodies(connection, publisher, "default")
        shared = await bodies.put(b"shared by both\n" * 30_000)
        rows = []
        for number, metadata in enumerate(ODD_METADATA):
            body = await bodies.put(f"{CANARY} {number}\n".encode() * 30_000)
            for session, of in (("s", body), ("kept", shared)):
                item = {"type": "item", "id": f"r{number}", "kind": "tool_result"}
                item |= {"metadata": metadata, "body": {"sha256": of.sha256, "size": of.size}}
                subject = f"weft.default.{session}.in.tool_result".encode()
                rows.append((subject, b"", json.dumps(item).encode()))
        await publish_each(url, rows)
        await put(publisher, "s", ContextItem("t", ItemKind.TOOL_RESULT, body=shared))
        done = await weft("erase", "--session", "s", "--yes", "--json", url=url)
        assert done.code == 0, done.err
        assert files_with(folder, CANARY) == []
        assert await bodies.exists(shared.sha256)


async def test_every_command_of_an_operator_goes_through_a_hostile_log(tmp_path: Path, tell):
    folder, policy = tmp_path / "data", tmp_path / "policy.json"
    policy.write_text("{}")
    async with services(folder) as url:

        async def operated(*command: str, codes: tuple[int, ...] = (0,)) -> Ran:
            done = await weft(*command, url=url, settings={"WEFT_DATA_DIR": str(folder)})
            assert done.code in codes, (command, done.code, done.err[-2_000:], done.out[-500:])
            assert "Traceback" not in done.err, (command, done.err[-2_000:])
            return done

        async with connected(url) as (connection, _):
            hosts = [host.partition(".")[2] for host in HOSTS if host.startswith("acme.")][:3]
            turns = [(f"weft.acme.{host}.in.user_turn".encode(), b"", TURN) for host in hosts]
            assert await publish_each(url, turns) == len(turns)
            messages = hostile(SEED, target=3)
            stored = await publish_all(connection, messages[:COUNT])
            rows = [*references("bodies"), *deep("bodies"), *deep(hosts[0])]
            assert await publish_each(url, rows) == len(rows)
            last = str(await last_sequence(connection))
        acme = ("--tenant", "acme")
        asked = ("-p", "answer", "-q", "owned", "--after", last, "--timeout", "60")
        await operated("compile", "-s", hosts[0], *asked, *acme)
        for worker in ("firewall", "summarizer", "memory"):
            await operated("rederive", worker, *acme, "--json", codes=(0, 1))
        await operated("dlq", "list", *acme, "--json")
        await operated("events", "-s", hosts[0], *acme, "--json")
        await operated("fork", hosts[0], "forked", "--at", last, *acme, "--json")
        await operated("backtest", "--policy", str(policy), *acme, "--json")
        await operated("verify", *acme, "--json", codes=(0, 1))
        await operated("doctor", *acme, "--json", codes=(0, 1))
        for session in (*hosts, "bodies"):
            file = str(tmp_path / f"{session}.jsonl")
            await operated("export", file, "--session", session, *acme)
            await operated("import", file, "--tenant", "moved", "--json")
        await operated("export", str(tmp_path / "acme.jsonl"), *acme)
        await operated("import", str(tmp_path / "acme.jsonl"), "--tenant", "copy", "--json")
        await operated("erase", "--scope", "session:good", *acme, "--yes", "--json", codes=(0, 2))
        await operated("erase", "--scope", "user:42", *acme, "--yes", "--json", codes=(0, 4))
        await operated("erase", "--session", "bodies", *acme, "--yes", "--json")
        await operated("erase", "--session", hosts[1], *acme, "--yes", "--json")
        await operated("rebuild", "--data", str(folder), codes=(0,))
        await operated("snapshot", "--data", str(folder), "--json")
        await operated("trim", "--before", last, "--json")
        await operated("erase", *acme, "--yes", "--json")
        await operated("erase", "--tenant", "rival", "--yes", "--json")
    tell(f"seed {SEED}: {len(stored)} hostile events, {len(rows)} odd references and deep results")
