"""`weft compiles` and `weft explain` of compiles that the service made."""

import pytest
from tests.integration.command_line import weft
from tests.integration.compiling import TURN, compiled, compiling
from tests.integration.folding import folding
from tests.integration.logged import publish

from weft.client import connect
from weft.log.connection import Connection
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

LATER = ContextItem("u2", ItemKind.USER_TURN, "And the paid ones?")
OF_ACME = ("--tenant", "acme")


@pytest.fixture
async def replica(server, log: Connection, tmp_path):
    async with folding(log, tmp_path), compiling(server.url, tmp_path) as compiler:
        yield compiler


async def test_recorded_compiles_are_listed_by_session_and_time(server, log: Connection, replica):
    [first] = await publish(log, "s1", [TURN])
    one = await compiled(log, after=first.sequence, budget=900, query="invoice")
    [second] = await publish(log, "s2", [TURN])
    two = await compiled(log, "s2", after=second.sequence, phase=Phase.CALL)

    async def listed(*options: str):
        return (await weft("compiles", *options, *OF_ACME, "--json", url=server.url)).json

    assert [row["id"] for row in await listed()] == [one.id, two.id]
    [row] = await listed("--session", "s1")
    shown = {key: row[key] for key in ("id", "sequence", "phase", "budget", "items", "query")}
    assert shown == {"id": one.id, "sequence": first.sequence, "phase": "answer", "budget": 900,
                     "items": 1, "query": "invoice"}  # fmt: skip
    assert [row["id"] for row in await listed("--limit", "1")] == [two.id]
    assert await listed("--since", "2126-01-01") == []
    ran = await weft("compiles", "--limit", "1", *OF_ACME, url=server.url)
    assert two.id in ran.out
    assert "1 earlier ones: --limit 2" in ran.err


async def test_the_tokens_of_past_prompts_are_counted_from_the_log(server, log, replica):
    long = ContextItem("a1", ItemKind.AGENT_MSG, "A page about lighthouses. " * 400)
    [*_, last] = await publish(log, "s1", [TURN, long])
    small = await compiled(log, after=last.sequence, budget=60)
    [later] = await publish(log, "s1", [LATER])
    large = await compiled(log, after=later.sequence)
    assert small.stats.dropped_count + small.stats.shortened_count > 0

    ran = await weft("compiles", "--tokens", *OF_ACME, "--json", url=server.url)
    for row, pack in zip(ran.json, (small, large), strict=True):
        stats = pack.stats
        assert row["tokens"] == stats.prompt_tokens
        assert (row["budget"], row["dropped"]) == (stats.budget, stats.dropped_count)
        assert (row["items"], row["shortened"]) == (stats.included_count, stats.shortened_count)
    ran = await weft("compiles", "--tokens", *OF_ACME, url=server.url)
    assert f"{large.stats.prompt_tokens:,}" in ran.out
    ran = await weft("compiles", *OF_ACME, "--json", url=server.url)
    assert "tokens" not in ran.json[0]


async def test_a_recorded_compile_is_explained_item_by_item(server, log: Connection, replica):
    [first] = await publish(log, "s1", [TURN])
    one = await compiled(log, after=first.sequence)
    await publish(log, "s1", [LATER])

    async def explained(*options: str):
        return await weft("explain", *options, *OF_ACME, url=server.url)

    ran = await explained(one.id, "--json")
    assert [item["item_id"] for item in ran.json["items"]] == ["u1"]
    assert ran.json["notes"] == []
    assert "It is shown whole." in (await explained(one.id, "--item", "u1")).out
    assert (await explained(one.id, "--item", "u2")).code == 4, "it came later"
    assert (await explained("nothing")).code == 4
    ran = await explained(one.id, "--budget", "9")
    assert (ran.code, "--budget: a recorded compile has its own request" in ran.err) == (2, True)
    assert (await explained("--item", "u1")).code == 2
    ran = await explained(one.id, "--all", "--json")
    assert [item["item_id"] for item in ran.json["items"]] == ["u1"]
    ran = await explained("-s", "s1", "--item", "u1", "--all")
    assert (ran.code, "--all is of a recorded COMPILE_ID" in ran.err) == (2, True)
    async with connect(server.url, tenant="acme") as client:
        [logged] = await client.operator.compiles("s1")
        [item] = (await client.operator.explain(logged.audit.id, "u1")).items
        assert item.included


async def test_a_compile_to_be_made_is_explained_with_what_it_would_be_given(
    server, log: Connection, replica
):
    [*_, last] = await publish(log, "s1", [TURN, LATER])
    await compiled(log, after=last.sequence)
    asked = ("explain", "-s", "s1", "-i", "u1", "--budget", "400", *OF_ACME)
    assert "u1: included" in (await weft(*asked, "--pin", "u1", url=server.url)).out
    assert "u1: included" in (await weft(*asked, "--timeout", "30", url=server.url)).out
    ran = await weft(*asked, "--reserve", "399", url=server.url)
    assert "u1: dropped" in ran.out
