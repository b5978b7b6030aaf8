"""From a publish to what is derived of it, through the running services of this tree and of others
in turn: every event goes to each tree, so that drift of the machine cancels out.

`python -m tests.bench.latency [WEFT ...]`, where each WEFT is another tree's `.venv/bin/weft`.
"""

import asyncio
import json
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import nats

from tests.bench.stack import answering
from tests.bench.table import quantile, show
from tests.bench.workers import result
from weft.client import Client
from weft.runtime.settings import Settings
from weft.supervision.reserved_ports import Port
from weft_schemas.events import encode_event
from weft_schemas.items import ContextItem, ItemKind

EVENTS = 400
WARM_UP = 50
PAUSE_SECONDS = 0.02
"""Between two events, so that each meets services at rest."""
ANSWER_SECONDS = 60.0
STEPS = (
    "acknowledged",
    "envelope in the log",
    "compile that waits for it",
    "compile of what is there",
    "compile of another session, in turn",
    "status, which computes next to nothing",
)


class Tree:
    """The services of one tree, reached by nats-py alone."""

    def __init__(self, connection: nats.NATS) -> None:
        self._connection = connection
        self._envelopes: asyncio.Queue[bytes] = asyncio.Queue()
        self.spent: dict[str, list[float]] = defaultdict(list)
        """Step → milliseconds of each event."""

    async def listen(self) -> None:
        async def take(message: nats.aio.msg.Msg) -> None:
            self._envelopes.put_nowait(message.data)

        await self._connection.subscribe("weft.default.*.out.envelope", cb=take)

    async def measure(self, number: int) -> None:
        """One event, a result whose call is in the log, in a session of ten calls."""
        session = f"s{number // 10}"
        call = ContextItem(f"c{number}", ItemKind.TOOL_CALL, f"list_orders(page={number})")
        await self._asked(f"weft.default.{session}.in.tool_call", encode_event(call))
        await asyncio.sleep(PAUSE_SECONDS)
        body = encode_event(msgspec.structs.replace(result(number), parent_id=call.id))
        begun = time.perf_counter()

        def note(step: str) -> None:
            self.spent[step].append((time.perf_counter() - begun) * 1e3)

        ack = await self._asked(f"weft.default.{session}.in.tool_result", body)
        note(STEPS[0])
        async with asyncio.timeout(ANSWER_SECONDS):
            await self._envelopes.get()
        note(STEPS[1])
        await self._compiled(session, ack["seq"])
        note(STEPS[2])
        begun = time.perf_counter()
        await self._compiled(session, 0)
        note(STEPS[3])
        begun = time.perf_counter()
        await self._compiled(f"s{number % (number // 10 + 1)}", 0, f"paid orders {number}")
        note(STEPS[4])
        begun = time.perf_counter()
        await self._asked(f"weft-rpc.default.{session}.status", b"{}")
        note(STEPS[5])

    async def _compiled(self, session: str, after: int, query: str = "paid orders") -> None:
        request = {"phase": "answer", "query": query, "budget": 1_000, "after": after}
        await self._asked(f"weft-rpc.default.{session}.compile", json.dumps(request).encode())

    async def _asked(self, subject: str, payload: bytes) -> dict:
        reply = await self._connection.request(subject, payload, timeout=ANSWER_SECONDS)
        assert not (reply.headers or {}).get("Weft-Error"), reply.data
        return json.loads(reply.data)


@asynccontextmanager
async def running(weft: str) -> AsyncIterator[Tree]:
    """`weft up` of a tree, in a folder that goes at the end."""
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
        port = Port().number
        up = await asyncio.create_subprocess_exec(
            weft, "up", "--data", folder, "--port", str(port), stdout=asyncio.subprocess.DEVNULL
        )
        url = f"nats://127.0.0.1:{port}"
        try:
            connection = await nats.connect(url, max_reconnect_attempts=-1, allow_reconnect=True)
            async with Client(Settings(nats_url=url)) as client:
                await answering(client)
            tree = Tree(connection)
            await tree.listen()
            yield tree
            await connection.close()
        finally:
            up.send_signal(signal.SIGTERM)
            await up.wait()


async def measured(wefts: list[str]) -> list[Tree]:
    async with AsyncExitStack() as stack:
        trees = [await stack.enter_async_context(running(weft)) for weft in wefts]
        for number in range(WARM_UP + EVENTS):
            if number == WARM_UP:
                for tree in trees:
                    tree.spent.clear()
            for tree in trees if number % 2 else trees[::-1]:
                await tree.measure(number)
                await asyncio.sleep(PAUSE_SECONDS)
        return trees


def main() -> None:
    wefts = [str(Path(sys.executable).with_name("weft")), *sys.argv[1:]]
    trees = asyncio.run(measured(wefts))
    for step in STEPS:
        rows = [
            [weft, *(quantile(tree.spent[step], share) for share in (0.1, 0.5, 0.9)), EVENTS]
            for weft, tree in zip(wefts, trees, strict=True)
        ]
        columns = ("tree", "p10 ms", "p50 ms", "p90 ms", "n")
        show(f"From a publish, or a request: {step}", columns, rows)


if __name__ == "__main__":
    main()
