"""`weft diff` as a command, on compiles that the service made and on any two sequences."""

import pytest
from tests.integration.command_line import weft
from tests.integration.compiling import TURN, compiled, compiling
from tests.integration.folding import folding
from tests.integration.logged import publish

from weft.log.connection import Connection
from weft_schemas.items import ContextItem, ItemKind

LATER = ContextItem("u2", ItemKind.USER_TURN, "And the paid ones?")


@pytest.fixture
async def replica(server, log: Connection, tmp_path):
    async with folding(log, tmp_path), compiling(server.url, tmp_path) as compiler:
        yield compiler


async def test_two_recorded_compiles_or_two_sequences(server, log: Connection, replica, tmp_path):
    [first] = await publish(log, "s1", [TURN])
    one = await compiled(log, after=first.sequence)
    [second] = await publish(log, "s1", [LATER])
    two = await compiled(log, after=second.sequence)

    async def diff(*arguments: str):
        return await weft("diff", *arguments, "--tenant", "acme", "--json", url=server.url)

    by_id = await diff(one.id, two.id)
    [change] = by_id.json["changes"]
    assert change["item_id"] == "u2"
    assert change["why"] == f"published later, event {second.sequence}"
    sequences = ["--as-of", str(first.sequence), "--as-of", str(second.sequence)]
    by_place = await diff("--session", "s1", "--phase", "answer", *sequences)
    assert by_place.json["changes"] == by_id.json["changes"]
    strict = tmp_path / "strict.json"
    strict.write_text('{"sensitivity_floor": "public"}')
    ran = await diff(two.id, "--policy", str(strict))
    assert {change["change"] for change in ran.json["changes"]} == {"went"}
    whys = {change["why"] for change in ran.json["changes"]}
    assert whys == {"sensitivity (public, floor public)"}


async def test_what_cannot_be_compared_is_said(server, log: Connection):
    await publish(log, "s1", [TURN])

    async def refused(*arguments: str) -> tuple[int, str]:
        ran = await weft("diff", *arguments, "--tenant", "acme", url=server.url)
        return ran.code, ran.err

    assert (await refused())[0] == 2
    assert (await refused("--session", "s1", "--as-of", "1"))[0] == 2
    code, error = await refused("--session", "s9", "--phase", "call", "--as-of", "1")
    assert code == 4
    assert "'s9'" in error
    assert (await refused("nothing", "nobody"))[0] == 4
