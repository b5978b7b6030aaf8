"""A scope's canary, in sessions that go on: after the erasure it is found nowhere."""

import json
from pathlib import Path

from tests.integration.command_line import services, weft
from tests.integration.test_erasure import CANARY, clean_bodies, connected, derived, files_with, put

from weft.log.bodies import Bodies
from weft.log.reading import read_matching
from weft_schemas.events import ErasureReceiptEvent, decode_event
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.subjects import item_subject

MINE, OTHER = {"scope": "user:u1"}, {"scope": "user:u2"}
USER, RESULT = ItemKind.USER_TURN, ItemKind.TOOL_RESULT


async def test_no_byte_of_an_erased_scope_is_left_and_its_sessions_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with services(folder, "--router", "0") as url, connected(url) as (connection, publisher):
        bodies = Bodies(connection, publisher, "default")
        large = "".join(f"line {n} of {CANARY}\n" for n in range(20_000))
        body = await bodies.put(large.encode())
        mixed = [
            ContextItem("a", USER, "Which orders are open?"),
            ContextItem("b", USER, f"My name is {CANARY}", metadata=MINE),
            ContextItem("c", USER, "My name is Mia", metadata=OTHER),
            ContextItem("d", RESULT, json.dumps({"owner": CANARY, "age": 3}), metadata=MINE),
            ContextItem("e", RESULT, body=body, metadata=MINE),
            ContextItem("f", ItemKind.AGENT_MSG, "Order mango-4711 is open."),
            ContextItem("m", ItemKind.MEMORY_FACT, f"city={CANARY}", metadata=MINE),
        ]
        for item in mixed:
            await put(publisher, "mixed", item)
        await put(publisher, "alone", ContextItem("x", USER, f"I am {CANARY}", metadata=MINE))
        broken = json.dumps(
            {"type": "item", "id": CANARY, "kind": "nothing", "metadata": MINE}
        ).encode()
        await publisher.publish(item_subject("default", "mixed", "user_turn"), broken)
        closed = item_subject("default", "mixed", "session_closed")
        last = await publisher.publish(closed, b'{"type":"session_closed"}')
        await derived(connection, "mixed", {"envelope", "fact", "summary", "episode", "parked"})
        asked = ["-p", "answer", "-q", CANARY, "--after", str(last.sequence), "--timeout", "60"]
        assert CANARY in (await weft("compile", "-s", "mixed", *asked, url=url)).out
        assert clean_bodies(folder) == 1  # of `e`; what `d` says passes whole
        done = await weft("snapshot", "--data", str(folder), "--json", url=url)
        assert done.code == 0, done.err
        seen = " ".join(files_with(folder, CANARY))
        for part in ("replica/generation", "streams/weft/", "weft_audit", "OBJ_weft_bodies"):
            assert part in seen

        done = await weft("erase", "--scope", "user:u1", "--yes", "--json", url=url)
        assert done.code == 0, done.err
        assert files_with(folder, CANARY) == []
        assert clean_bodies(folder) == 0
        assert done.json["sessions"] == ["alone", "mixed"]
        removed = done.json["removed"]
        assert (removed["bodies"], removed["snapshots"], removed["replicas"]) == (1, 1, 1)
        assert removed["events"] >= 12
        assert not [one for one in done.json["unreachable"] if "replica " in one]
        assert not await bodies.exists(body.sha256)
        (receipt,) = [
            decode_event(record.payload)
            async for record in read_matching(connection, "w.out.*.*.@tenant.erasure_receipt")
        ]
        assert isinstance(receipt, ErasureReceiptEvent)
        assert (receipt.scope, receipt.session, receipt.removed) == ("user:u1", None, removed)

        kept = (await weft("compile", "-s", "mixed", "-p", "answer", "--json", url=url)).json
        assert sorted(kept["stats"]["included_items"]) == ["a", "c", "f"]
        assert "mango-4711" in kept["prompt"]
        rebuilt = await weft("rebuild", "--data", str(folder), "--verify", url=url)
        assert rebuilt.code == 0, rebuilt.err

        await put(publisher, "new", ContextItem("n", USER, "My name is Ada", metadata=MINE))
        await derived(connection, "new", {"fact"})
        again = await weft("erase", "--scope", "user:u1", "--yes", "--json", url=url)
        assert again.json["sessions"] == ["new"]
        assert files_with(folder, "my name is ada") == []
        for wrong in (["--scope", "session:new"], ["--scope", "u", "--session", "new"]):
            assert (await weft("erase", *wrong, "--yes", url=url)).code == 2
