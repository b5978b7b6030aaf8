"""What a gateway did is in the log as everything else is: the commands that read, replay and check
a session work on a host's, and `weft erase` leaves nothing of it anywhere."""

import json
import os
import re
from pathlib import Path
from typing import Any

from mcp import Client
from tests.gateway import called, odd_server, text_of
from tests.integration.command_line import weft
from tests.integration.test_erasure import CANARY, files_with
from tests.integration.test_gateway_command import host

HANDLE = re.compile(r"art:[a-z2-7]{10}")
LONG = "".join(f"Line {n} of {CANARY} was shipped to Rotterdam.\n" for n in range(2_000))


def config(folder: Path) -> Path:
    odd = odd_server()
    file = folder / "mcp.json"
    entry = {"command": odd.command, "args": list(odd.args)}
    file.write_text(json.dumps({"mcpServers": {"odd": entry}}))
    return file


def address(data: Path) -> str:
    """Of the log that the gateway started."""
    return (data / "gateway" / "address").read_text()


async def handle_of(client: Client, **arguments: Any) -> str:
    found = HANDLE.search(text_of(await called(client, "odd:echo", **arguments)))
    assert found is not None
    return found.group()


async def test_the_commands_of_the_log_work_on_a_gateways_session(tmp_path: Path) -> None:
    data, exported = tmp_path / "data", tmp_path / "s1"
    smaller = tmp_path / "smaller.json"
    smaller.write_text(json.dumps({"budgets": {"answer": 900}}))
    async with host(data, config(tmp_path), "--session", "s1") as client:
        handle = await handle_of(client, text=LONG)
        await called(client, "odd:counts")
        url = address(data)
        known = {"WEFT_FINGERPRINT_KEY": os.environ["WEFT_FINGERPRINT_KEY"]}
        listed = (await weft("events", "-s", "s1", "--json", url=url)).out
        events = [json.loads(line) for line in listed.splitlines()]
        kinds = [one["event"].get("kind") for one in events]
        assert (kinds.count("tool_call"), kinds.count("tool_result")) == (3, 3)  # and the list
        last = str(events[-1]["sequence"])
        asked = ["-s", "s1", "-p", "answer", "-q", "Line 77", "--after", last, "--timeout", "60"]
        made = (await weft("compile", *asked, "--json", url=url)).json
        assert "Line 77 of " in made["prompt"]
        assert handle in made["prompt"]
        again = await weft("reproduce", made["id"], "--json", url=url, settings=known)
        assert again.json["identical"], again.json["reasons"]
        tried = await weft("backtest", "--policy", str(smaller), "--json", url=url, settings=known)
        assert tried.json["selected_otherwise_now"] == 0
        assert tried.json["proposed"]["tokens"] < 900 < tried.json["recorded"]["tokens"]
        for command in (
            ["verify", "--data", str(data)],
            ["rebuild", "--verify", "--data", str(data)],
            ["export", "-s", "s1", str(exported)],
        ):
            done = await weft(*command, url=url, settings=known)
            assert done.code == 0, done.err
    assert exported.stat().st_size > 0


async def test_nothing_of_an_erased_session_is_left_and_its_handles_say_so(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with host(data, config(tmp_path), "--session", "s1") as client:
        handle = await handle_of(client, text=LONG)
        shown = await client.call_tool("look_into_result", {"handle": handle, "view": "tail"})
        assert CANARY in text_of(shown)
        assert files_with(data, CANARY)
        done = await weft("erase", "--session", "s1", "--yes", url=address(data))
        assert done.code == 0, done.err
        for refused in (
            await client.call_tool("look_into_result", {"handle": handle}),
            await called(client, "odd:echo", text={"$weft": handle}),
        ):
            assert refused.is_error
            assert f"no artifact '{handle}'" in text_of(refused)
            assert "it may also have been erased" in text_of(refused)
        assert files_with(data, CANARY) == []
        again = await handle_of(client, text=LONG.replace(CANARY, "cargo"))
        url = address(data)
        told = (await weft("events", "-s", "s1-2", url=url)).out  # what is erased stays so
        assert "odd:echo" in told
        assert (await weft("events", "-s", "s1", url=url)).out == ""
        look = ["--view", "search", "-a", "pattern=Line 77 "]
        assert "Line 77 of cargo" in (await weft("drilldown", again, *look, url=url)).out
    assert files_with(data, CANARY) == []  # nor does its end write anything
