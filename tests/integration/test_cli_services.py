"""The commands against running services: five minutes of use, and what goes wrong on the way."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest
import pytest_asyncio
from tests.data import DATA, needs_data
from tests.integration.command_line import services, weft
from tests.provider_rules import check_anthropic, check_openai

pytestmark = pytest.mark.asyncio(loop_scope="module")

ITEMS = [
    {"id": "u1", "kind": "user_turn", "text": "Which order is late?"},
    {
        "id": "c1",
        "kind": "tool_call",
        "text": "orders(late=true)",
        "parent_id": "u1",
        "metadata": {"tool_name": "orders", "call_id": "c1", "arguments": {"late": True}},
    },
    {"id": "r1", "kind": "tool_result", "text": "A-17 is late by 3 days", "parent_id": "c1"},
    {"id": "a1", "kind": "agent_msg", "text": "Order A-17 is late."},
]


class Up(NamedTuple):
    url: str
    folder: Path


def until(sequence: str | int) -> list[str]:
    """Options that have a compile wait for this place in the log, on however slow a machine."""
    return ["--after", str(sequence), "--timeout", "60"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def up(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Up]:
    """Everything running, with a session `s1` published."""
    folder = tmp_path_factory.mktemp("up") / "data"
    async with services(folder, "--firewall", "2") as url:
        given = "\n".join(json.dumps(item) for item in ITEMS).encode()
        done = await weft("publish", "-", "--session", "s1", url=url, given=given)
        assert done.code == 0, done.err
        done = await weft("compile", "-s", "s1", "-p", "answer", *until("4"), url=url)
        assert done.code == 0, done.err
        yield Up(url, folder)


async def test_a_prompt_goes_to_stdout_and_its_story_to_stderr(up: Up) -> None:
    done = await weft("compile", "-s", "s1", "-p", "answer", "--budget", "300", url=up.url)
    assert "A-17 is late by 3 days" in done.out
    assert "4 of 4 items" in done.err
    assert "of 300 tokens" in done.err


async def test_packs_come_as_json_and_as_messages(up: Up) -> None:
    arguments = ["compile", "-s", "s1", "-p", "answer"]
    pack = (await weft(*arguments, "--json", url=up.url)).json
    assert pack["stats"]["included_count"] == 4
    check_openai((await weft(*arguments, "--format", "openai", url=up.url)).json)
    check_anthropic((await weft(*arguments, "--format", "anthropic", url=up.url)).json)


async def test_the_past_is_compiled_as_it_was(up: Up) -> None:
    done = await weft("compile", "-s", "s1", "-p", "answer", "--as-of", "1", url=up.url)
    assert "Which order is late?" in done.out
    assert "A-17" not in done.out


async def test_an_item_is_explained(up: Up) -> None:
    done = await weft("explain", "-s", "s1", "-i", "r1", url=up.url)
    assert done.out.startswith("r1: included (whole_session)\n  All that may be shown of the ")
    assert "It is in turn 1 of " in done.out
    absent = await weft("explain", "-s", "s1", "-i", "zz", "-p", "answer", "--json", url=up.url)
    assert (absent.code, absent.out) == (4, "")
    assert absent.err.startswith("weft: session 's1' has no item 'zz' at or before sequence ")
    assert "(included)" not in done.out


async def test_tools_come_from_a_file_in_any_form(up: Up, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"order_id": {"type": "string"}}}
    refund = {"name": "refund", "description": "Pays back.", "parameters": schema}
    file = tmp_path / "tools.json"
    file.write_text(json.dumps([{"type": "function", "function": refund},
                                {"name": "mail", "input_schema": schema}]))  # fmt: skip
    offered = ["compile", "-s", "s1", "--tools", str(file)]
    route = await weft(*offered, "-p", "route", url=up.url)
    assert "- refund: Pays back.\n- mail" in route.out
    call = await weft(*offered, "-p", "call", "--tool", "refund", url=up.url)
    assert 'tool: refund: Pays back. {"type":"object","properties":{"order_id":' in call.out
    assert "mail" not in call.out


async def test_a_publisher_that_asks_learns_of_conflicts(up: Up) -> None:
    asked = ["-s", "known", "--tenant", "acme", "--confirm"]
    first = b'{"id": "k1", "kind": "user_turn", "text": "one"}'
    done = await weft("publish", "-", *asked, url=up.url, given=first)
    assert (done.code, done.err) == (0, "")
    given = b'{"id": "k1", "kind": "user_turn", "text": "other"}\n{"id": "k2", "kind": "user_turn"}'
    lost = await weft("publish", "-", *asked, url=up.url, given=given)
    assert lost.code == 6
    assert lost.err.startswith("known: conflict: item 'k1' is not stored")
    again = await weft("publish", "-", *asked, url=up.url, given=given)
    assert (again.code, again.err) == (6, lost.err)
    shown = await weft("publish", "-", *asked, "--json", url=up.url, given=first)
    assert shown.json["confirmed"]["duplicates"] == ["k1"]


async def test_status_shows_the_read_model_and_conflicts(up: Up) -> None:
    taken = b'{"id": "u1", "kind": "user_turn", "text": "something else"}'
    ack = (await weft("publish", "-", "-s", "s1", "--json", url=up.url, given=taken)).json
    await weft("compile", "-s", "s1", "-p", "answer", *until(ack["sequence"]), url=up.url)
    found = (await weft("status", "--json", url=up.url)).json
    assert found["read_model"]["conflicts"] == 1
    assert found["read_model"]["collisions"][0]["item_id"] == "u1"
    assert {one["name"] for one in found["consumers"]} == {"firewall", "memory", "summarizer"}
    assert found["healthy"]
    assert {one["service"] for one in found["processes"] if one["ready"]} == {
        "firewall", "summarizer", "memory", "indexer", "compiler", "router",
    }  # fmt: skip
    shown = await weft("status", "--session", "s1", url=up.url)
    assert shown.code == 0
    assert "conflicts: the id was taken" in shown.out
    assert shown.err == ""


async def test_the_read_model_is_rebuilt_while_it_serves(up: Up) -> None:
    done = await weft("rebuild", "--data", str(up.folder), "--verify", "--json", url=up.url)
    assert done.code == 0, done.err
    assert done.json["equal"] is True
    assert done.json["digest"] == done.json["replaced"]
    again = await weft("compile", "-s", "s1", "-p", "answer", url=up.url)
    assert "A-17 is late by 3 days" in again.out


async def test_what_is_behind_a_summary_is_looked_into_by_its_handle(up: Up) -> None:
    rows = [{"id": n, "name": f"part {n}", "price": n * 7} for n in range(400)]
    call = {"tool_name": "parts", "call_id": "p"}
    items = [
        {"id": "p", "kind": "tool_call", "metadata": {**call, "arguments": {}}},
        {
            "id": "pr",
            "kind": "tool_result",
            "parent_id": "p",
            "text": json.dumps(rows, indent=0),
            "metadata": call,
        },
    ]
    given = "\n".join(json.dumps(item) for item in items).encode()
    ack = (await weft("publish", "-", "-s", "parts", "--json", url=up.url, given=given)).json
    asked = ["compile", "-s", "parts", "-p", "interpret", "--json"]
    pack = (await weft(*asked, *until(ack["sequence"]), url=up.url)).json
    (handle,) = [entry["handle"] for entry in pack["entries"] if entry.get("handle")]
    assert '"part 250"' not in pack["prompt"]
    wrong = await weft("drilldown", handle, "--view", "search", "-a", "pattern=(part", url=up.url)
    assert (wrong.code, "is no regular expression" in wrong.err) == (2, True)
    asked = ["drilldown", handle, "--view", "search", "-a", "pattern=part 250"]
    found = await weft(*asked, url=up.url)
    assert "part 250" in found.out
    assert "views: " in found.err
    reply = (await weft("drilldown", handle, "--max-tokens", "50", "--json", url=up.url)).json
    assert reply["item_id"] == "pr"
    assert reply["tokens"] <= 50
    assert reply["truncated"] is True


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["compile", "-s", "nobody", "-p", "answer"], 4, "weft: session 'nobody' has no item"),
        (["compile", "-s", "s1", "-p", "dream"], 2, "Usage: weft compile"),
        (["events", "-s", "nobody"], 4, "weft: session 'nobody' of tenant 'default' has no"),
        (
            ["events", "-s", "nobody", "--from", "3"],
            4,
            "weft: session 'nobody' of tenant 'default'",
        ),
        (["status", "-s", "nobody"], 4, "weft: session 'nobody' of tenant 'default' is not in the"),
        (["drilldown", "art:aaaaaaaaaa"], 4, "weft: no artifact 'art:aaaaaaaaaa'"),
        (["policy", "show", "--as-of", "²"], 2, "weft: '²' is neither a sequence nor a time"),
        (["drilldown", "art:aaaaaaaaaa", "-a", "start"], 2, "weft: -a start: give NAME=VALUE"),
    ],
)
async def test_what_goes_wrong_is_one_line(
    up: Up, arguments: list[str], code: int, line: str
) -> None:
    done = await weft(*arguments, url=up.url)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(line)
    assert "Traceback" not in done.err


@needs_data
async def test_a_recorded_run_goes_in_and_comes_out_by_command(up: Up) -> None:
    file = DATA / "taubench" / "gpt-4o-airline.json"
    done = await weft("publish", str(file), "-s", "run", "--transcript", "3", url=up.url)
    sequence = done.out.rsplit(maxsplit=1)[-1]
    arguments = ["-s", "run", "-p", "call", "--budget", "1000", *until(sequence)]
    for shape, check in (("openai", check_openai), ("anthropic", check_anthropic)):
        made = await weft("compile", *arguments, "--format", shape, url=up.url)
        check(made.json)


async def test_a_compile_can_name_a_time(up: Up) -> None:
    asked = ["compile", "-s", "s1", "-p", "answer", "--json", "--as-of"]
    late = (await weft(*asked, "2999-01-01", url=up.url)).json
    assert late["stats"]["total_candidates"] == 4
    by_sequence = (await weft(*asked, str(late["sequence"]), url=up.url)).json
    assert by_sequence["digest"] == late["digest"]
    early = await weft(*asked, "2001-01-01T00:00:00Z", url=up.url)
    assert (early.code, "give a later one" in early.err) == (4, True)
    unclear = await weft(*asked, "yesterday", url=up.url)
    assert (unclear.code, "neither a sequence nor a time" in unclear.err) == (2, True)
