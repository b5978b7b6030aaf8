"""What an event held is nowhere once it is erased: not in what was parked of it, not in a log line,
not in an old generation, and not under a subject that only looks like a tombstone."""

import asyncio
from pathlib import Path

from tests.integration.command_line import services, weft
from tests.integration.raw import publish_each
from tests.integration.test_erasure import (
    CANARY,
    PATIENCE,
    connected,
    derived,
    files_with,
    left_of,
    put,
)

from weft.dead_letters.reviving import dead_letters
from weft.log.reading import read_matching
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.subjects import item_subject

SECRET = CANARY.encode()
BROKEN = (
    b'{"type":"item","id":"a","kind":"tool_result","sensitivity":"%b"}',
    b'{"type":"item","id":"a","kind":"%b"}',
    b'{"type":"item","id":"%b","kind":"tool_result","v":"x"}',
    b'{"type":"item","id":"a","kind":"tool_result","%b":1}',
    b'{"type":"%b"}',
    b'{"type":"%b","v":7}',
    b'{"type":"item","id":"%b","kind":"user_turn"}',
    b'{"type":"item","id":"%b","kind":"tool_result","parent_id":"%b"}',
    b'{"type":"item","id":"a","kind":"tool_result","metadata":{"tool_name":["%b"]}}',
    b'{"type":"item","id":"a","kind":"tool_result","metadata":{"%b":{"a":"\\ud800"}}}',
    b'{"type":"item","id":"a","kind":"tool_result","text":"%b',
    b"%b",
)


def broken(template: bytes) -> bytes:
    return template.replace(b"%b", SECRET)


async def test_no_value_of_a_malformed_event_outlives_it(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with services(folder, "--router", "0") as url:
        async with connected(url) as (connection, publisher):
            await put(publisher, "secret", ContextItem("u", ItemKind.USER_TURN, "hello"))
            subject = item_subject("default", "secret", "tool_result")
            for template in BROKEN:
                await publisher.publish(subject, broken(template))
            # Looks like what an erasure leaves, to who reads only how a subject ends.
            for name in (b"erasure_receipt", b"erased", b"parked", b"@tenant.erased"):
                place = b"weft.default.secret.in." + name
                await publish_each(url, [(place, b"", broken(BROKEN[0]))])
            await derived(connection, "secret", {"parked"})
            async with asyncio.timeout(PATIENCE):
                while len(await dead_letters(connection, "default", "secret")) < len(BROKEN):
                    await asyncio.sleep(0.1)
            parked = read_matching(connection, "w.out.*.default.secret.parked")
            payloads = b"".join([record.payload async for record in parked])
        for column in ("code", "error"):
            # An error says which item it is about; nothing else of the event.
            texts = b"".join(_column(payloads, column)).replace(b"item '%b'" % SECRET, b"")
            assert SECRET not in texts
        logs = [name for name in files_with(folder, CANARY) if name.endswith(".log")]
        assert logs == []
        done = await weft("erase", "--session", "secret", "--yes", "--json", url=url)
        assert done.code == 0, done.err
        assert files_with(folder, CANARY) == []
        async with connected(url) as (connection, _):
            assert await left_of(connection, "secret") == 0


def _column(payloads: bytes, name: str) -> list[bytes]:
    """Values of a field of several objects in a row."""
    return [part.split(b'"', 1)[0] for part in payloads.split(b'"%b":"' % name.encode())[1:]]


async def test_after_a_rebuild_nobody_holds_the_old_generation(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with services(folder, "--router", "0") as url:
        async with connected(url) as (_, publisher):
            await put(publisher, "s", ContextItem("u", ItemKind.USER_TURN, CANARY))
        assert (await weft("compile", "-s", "s", "-p", "answer", url=url)).code == 0
        before = {path.name for path in (folder / "replica").glob("*.sqlite")}
        done = await weft("rebuild", "--data", str(folder), url=url)
        assert done.code == 0, done.err
        async with asyncio.timeout(PATIENCE):
            # Nobody asks anything meanwhile.
            while before & {path.name for path in (folder / "replica").glob("*.sqlite")}:
                await asyncio.sleep(0.2)
