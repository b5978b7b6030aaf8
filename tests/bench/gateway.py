"""The gateway: what a host's model sees of 1,000 tools, whether it finds the right one, what a call
through the gateway takes beside the direct call, memory and start-up.

`python -m tests.bench.gateway` prints all of it, `… calls` the calls alone.

The 1,000 tools of 70 servers are near-copies of those that public servers list when this runs.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
from mcp import Client, StdioServerParameters
from mcp_types import Tool

from tests.bench.gateway_texts import made_result
from tests.bench.table import quantile, show
from tests.data import DATA
from tests.gateway import gateway, git_server, host, odd_server, text_of, time_server
from tests.npm import installed
from weft import tokens
from weft.gateway.configuration.config import ServerSpec
from weft.gateway.data_folder import DataFolder
from weft.gateway.upstream.manifest import Manifest, spec_digest
from weft.log.topology import provision
from weft.log.transport import connect
from weft.router.formats import item_from
from weft.runtime.settings import Settings
from weft.supervision.embedded_server import EmbeddedServer
from weft.supervision.up import running
from weft_eval.routing import bm25, recall
from weft_eval.routing_sets import RoutingCase, RoutingSet, bfcl, metatool, near_copies
from weft_schemas.routing import SelectableItem

SERVERS, TOOLS = 70, 1_000
CALLS = 60
KINDS = ("json", "code", "prose")
WARMING = 5
SIZES = (100, 1_000, 10_000, 100_000)
"""Bytes of a result; each of a kind is another text."""
QUERIES = 500
"""Of each set, at even places: each is a whole request of a host's."""


async def recorded() -> list[dict[str, Any]]:
    """The tools of public servers."""
    specs = [time_server(), git_server()]
    try:
        npm = installed()
    except BaseException as reason:  # pytest's skip
        print(f"without npm's servers: {reason}")
    else:
        for name, *arguments in (("everything",), ("filesystem", "/tmp"), ("memory",)):
            command = str(npm / f"mcp-server-{name}")
            specs.append(
                ServerSpec(name=name, transport="stdio", command=command, args=tuple(arguments))
            )
    found = []
    for spec in specs:
        params = StdioServerParameters(command=spec.command, args=list(spec.args))
        async with Client(params) as client:
            listed = (await client.list_tools()).tools
            found += [
                tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in listed
            ]
    return found


def crowd(base: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Server → its tools, 1,000 together; every name once."""
    items = [item_from(one, 0) for one in base]
    by_name = {one["name"]: one for one in base}
    made: dict[str, list[dict[str, Any]]] = {f"server{n:02}": [] for n in range(SERVERS)}
    for number, item in enumerate(near_copies(items, TOOLS)):
        origin = by_name[item.id.split(".")[0]]
        name = item.name if item.name == origin["name"] else f"{item.name}_{number}"
        tool = {**origin, "name": name, "description": item.description}
        made[f"server{number % SERVERS:02}"].append(tool)
    return made


def learned(folder: Path, servers: dict[str, list[dict[str, Any]]]) -> list[ServerSpec]:
    """Servers that are known from before, and that nobody starts here."""
    kept, specs = DataFolder(folder), []
    for name, tools in servers.items():
        spec = msgspec.structs.replace(odd_server(name), args=("-c", f"# {name}"))
        manifest = Manifest(spec=spec_digest(spec), name=name, tools=tuple(tools))
        kept.keep_manifest(name, manifest)
        specs.append(spec)
    return specs


def as_definitions(tools: list[Tool]) -> str:
    """What a provider puts before the model."""
    return json.dumps(
        [
            {"name": one.name, "description": one.description, "input_schema": one.input_schema}
            for one in tools
        ]
    )


async def window(url: str, servers: dict[str, list[dict[str, Any]]]) -> None:
    rows = []
    for mode in ("pass", "search"):
        with tempfile.TemporaryDirectory() as folder:
            specs = learned(Path(folder), servers)
            options = {"mode": mode, "collisions": "allow"}
            made = gateway(url, Path(folder), *specs, **options)
            async with made as one, host(one) as client:
                listed, cursor = [], None
                while True:
                    page = await client.list_tools(cursor=cursor)
                    listed += page.tools
                    cursor = page.next_cursor
                    if cursor is None:
                        break
                found: list[int] = []
                if mode == "search":
                    for query in ("commit the changes", "read a file", "the time in Tokyo"):
                        reply = await client.call_tool("find_tools", {"query": query})
                        found.append(tokens.count(text_of(reply)))
        count = tokens.count(as_definitions(listed))
        rows.append([mode, len(listed), count, median(found) if found else "-"])
    columns = ["mode", "tools listed", "tokens in every request", "tokens of a search's answer"]
    show(f"{TOOLS} tools of {SERVERS} servers, as the host's model sees them", columns, rows)


def tools_of(items: tuple[SelectableItem, ...]) -> list[dict[str, Any]]:
    return [
        {
            "name": item.id,
            "description": item.description,
            "inputSchema": {"type": "object", **item.args_schema, "type": "object"},  # noqa: F601
        }
        for item in items
    ]


async def finding(url: str) -> None:
    rows = []
    sets = []
    if (DATA / "metatool").is_dir():
        sets.append(metatool(DATA / "metatool"))
    if (DATA / "bfcl").is_dir():
        sets.append(bfcl((DATA / "bfcl").glob("BFCL*.json")))
    for one in sets:
        step = max(1, len(one.cases) // QUERIES)
        cases = one.cases[::step][:QUERIES]
        for named, shares, milliseconds in (
            ("find_tools", *await searched(url, one, cases)),
            ("flat BM25", *flat(one, cases)),
        ):
            rows.append([one.name, len(one.items), len(cases), named, shares, milliseconds])
    columns = ["set", "tools", "queries", "way", "recall@5", "p50 ms"]
    show("The right tool among five", columns, rows)


async def searched(url: str, one: RoutingSet, cases: Any) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        specs = learned(Path(folder), {"s": tools_of(one.items)})
        async with gateway(url, Path(folder), *specs) as made, host(made) as client:
            right, seconds = 0, []
            for case in cases:
                before = time.perf_counter()
                reply = await client.call_tool("find_tools", {"query": case.query})
                seconds.append(time.perf_counter() - before)
                blocks = text_of(reply).split("\n\n")
                ids = {block.split("\n")[0].split(" ")[0].removeprefix("s:") for block in blocks}
                right += not ids.isdisjoint(case.gold)
            quarantined = len(made.catalogue.quarantined)
            print(f"{one.name}: {quarantined} tools quarantined by their descriptions")
    return right / len(cases), median(seconds) * 1e3


def flat(one: RoutingSet, cases: tuple[RoutingCase, ...]) -> tuple[float, float]:
    found = recall("flat BM25", lambda: bm25(one.items), cases)
    return found.at[5], found.p50_ms


@asynccontextmanager
async def process(url: str, folder: Path, config: Path) -> AsyncIterator[tuple[Client, int]]:
    """A gateway as people run it, and its memory in KiB, asked at the end."""
    command = ["-m", "weft.cli.main", "gateway", "--config", str(config), "--data", str(folder)]
    environ = {**os.environ, "WEFT_NATS_URL": url, "WEFT_FINGERPRINT_KEY": "k" * 16}
    params = StdioServerParameters(
        command=sys.executable, args=[*command, "--mode", "search"], env=environ
    )
    async with Client(params, cache=None) as client:
        states = DataFolder(folder).running()
        yield client, states[0].pid if states else 0


def worked_of(pid: int) -> float:
    """Seconds of a processor that a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0


def made_files(folder: Path, kind: str, size: int) -> list[str]:
    """Texts that no call had before."""
    found = []
    for seed in range(CALLS + WARMING):
        path = folder / f"{kind}-{size}-{seed}"
        path.write_text(made_result(kind, size, seed), encoding="utf-8")
        found.append(str(path))
    return found


async def in_turn(straight: Client, through: Client, pid: int, paths: list[str]) -> list[float]:
    """Milliseconds: p50 direct, p50 through the gateway, p50 of the difference, p95 through it; and
    what a call takes of a processor in the gateway's process, which a busy machine changes less."""
    plain: list[float] = []
    ours: list[float] = []
    worked = 0.0
    for number, path in enumerate(paths):
        if number == WARMING:
            worked = worked_of(pid)
        before = time.perf_counter()
        await straight.call_tool("reads", {"path": path})
        between = time.perf_counter()
        await through.call_tool("call_tool", {"tool": "odd:reads", "arguments": {"path": path}})
        plain.append(between - before)
        ours.append(time.perf_counter() - between)
    worked = (worked_of(pid) - worked) / CALLS
    plain, ours = plain[WARMING:], ours[WARMING:]
    more = [a - b for a, b in zip(ours, plain, strict=True)]
    measured = (median(plain), median(ours), median(more), quantile(ours, 0.95), worked)
    return [seconds * 1e3 for seconds in measured]


async def calling(url: str, servers: dict[str, list[dict[str, Any]]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, config = Path(name) / "data", Path(name) / "mcp.json"
        odd = odd_server("odd", "reads")
        entry = {"command": odd.command, "args": list(odd.args)}
        others = {one: {"command": odd.command, "args": ["-c", f"# {one}"]} for one in servers}
        config.write_text(
            json.dumps({"mcpServers": {"odd": entry, **others}, "weft": {"collisions": "allow"}})
        )
        learned(folder, servers)
        starts = []
        for _ in range(3):
            before = time.perf_counter()
            async with process(url, folder, config) as (client, _):
                await client.list_tools()
                starts.append(time.perf_counter() - before)
        direct = StdioServerParameters(command=odd.command, args=list(odd.args))
        rows = []
        async with process(url, folder, config) as (through, pid), Client(direct) as straight:
            for size in SIZES:
                for kind in KINDS:
                    paths = made_files(Path(name), kind, size)
                    rows.append([size, kind, *await in_turn(straight, through, pid, paths)])
            memory = resident(pid)
    columns = ["bytes", "of", "direct p50 ms", "gateway p50 ms", "more, p50 ms", "gateway p95 ms"]
    columns += ["processor ms a call"]
    show(f"A call and its result of so many bytes, {CALLS} in turn", columns, rows)
    show(
        f"The process, with {TOOLS} tools of {SERVERS} servers known",
        ["start to a list, s (median of 3)", "resident MiB"],
        [[median(starts), memory // 1024]],
    )


async def main() -> None:
    everything = sys.argv[1:] != ["calls"]
    servers = crowd(await recorded()) if everything else {}
    with tempfile.TemporaryDirectory() as folder:
        async with EmbeddedServer(folder) as server:
            log = await connect(server.url)
            await provision(log)
            await window(server.url, servers) if everything else None
            settings = Settings(
                nats_url=server.url, data_dir=Path(folder) / "w", fingerprint_key="k" * 16
            )
            async with running(settings, {"firewall": 1}, embedded=False):
                await calling(server.url, servers)
            await finding(server.url) if everything else None
            await log.close()


if __name__ == "__main__":
    asyncio.run(main())
