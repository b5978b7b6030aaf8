"""Backtesting and logging of compiles: recorded compiles made again per second, with one and two
processes, and what the record of a compile costs beside the compile itself.

`python -m tests.bench.backtest [SESSIONS]` on an embedded server, with made-up sessions of tool
calls.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import msgspec

from tests.bench.indexer import Words
from tests.bench.table import quantile, ratio, show
from weft.audit.backtest_from_log import Backtest, backtest_policy
from weft.audit.history import LoggedHistories, fresh_model
from weft.compiler.compile import Compilation, compile_pack
from weft.log.connection import Connection
from weft.log.message import Message
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence
from weft.log.topology import provision
from weft.log.transport import connect
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.compile import CompileRequest
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.events import EnvelopeEvent, Origin, encode_event
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextBudget, ContextPolicy, Phase
from weft_schemas.subjects import audit_subject, derived_subject, item_subject

SESSIONS = 20
ROUNDS = 12
"""Of a question, a call, its result and an answer, in each session; a compile after each."""
TURNS = 3
PHASES = (Phase.CALL, Phase.INTERPRET, Phase.ANSWER)
KEY = b"bench"
TENANT = "bench"
SMALLER = ContextPolicy(name="smaller", budgets=ContextBudget(1_000, 1_500, 2_000, 3_000))


def round_of(words: Words, number: int) -> Iterator[ContextItem]:
    """Four items that belong together."""
    customer = f"C-{words.random.getrandbits(30):x}"
    yield ContextItem(f"u{number}", ItemKind.USER_TURN, f"{customer}: {words.text(200)}")
    named = {"tool_name": "find", "call_id": f"k{number}", "arguments": {"customer": customer}}
    yield ContextItem(f"c{number}", ItemKind.TOOL_CALL, "find()", f"u{number}", metadata=named)
    yield ContextItem(f"r{number}", ItemKind.TOOL_RESULT, words.text(1_500), f"c{number}")
    yield ContextItem(f"a{number}", ItemKind.AGENT_MSG, words.text(250), f"u{number}")


async def fill(connection: Connection, sessions: int) -> list[tuple[str, int]]:
    """Publish the sessions with their envelopes; gives each session with the last sequence of each
    of its rounds."""
    words, ends = Words(11), []
    async with Publisher(connection) as publisher:
        for session in range(sessions):
            name = f"s{session}"
            for number in range(ROUNDS):
                items = list(round_of(words, number))
                acks = await publisher.publish_many(
                    Message(item_subject(TENANT, name, item.kind), encode_event(item))
                    for item in items
                )
                envelope = EnvelopeEvent(
                    Origin(acks[2].sequence, items[2].id, "firewall"),
                    ResultEnvelope(items[2].text[:900], raw_tokens=400),
                )
                subject = derived_subject(TENANT, name, "envelope")
                ack = await publisher.publish(subject, encode_event(envelope))
                ends.append((name, ack.sequence))
    return ends


async def record_all(
    connection: Connection, ends: list[tuple[str, int]]
) -> tuple[list[float], list[float]]:
    """Compile after every round and record it as the service does. Gives the milliseconds of each
    compile, and of each record until its acknowledgement."""
    compiling, recording = [], []
    last = await last_sequence(connection)
    histories = LoggedHistories(connection, TENANT, last)
    names = list(dict.fromkeys(name for name, _ in ends))
    async with Publisher(connection) as publisher:
        for name in names:
            model = fresh_model(await histories.of(name), last, "o200k_base")
            for number, (_, at) in enumerate(end for end in ends if end[0] == name):
                begun = time.perf_counter()
                request = CompileRequest(PHASES[number % 3], query="which customer")
                made = compile_pack(model.view(TENANT, name, at), request, key=KEY)
                done = time.perf_counter()
                await record(publisher, made)
                compiling.append((done - begun) * 1_000)
                recording.append((time.perf_counter() - done) * 1_000)
            model.close()
    return compiling, recording


async def record(publisher: Publisher, made: Compilation) -> None:
    subject = audit_subject(TENANT, made.pack.session, "compiled")
    await publisher.publish(subject, msgspec.json.encode(made.audit), made.audit.id)


async def measure(sessions: int) -> None:
    """Print both tables."""
    with tempfile.TemporaryDirectory() as folder:
        async with EmbeddedServer(Path(folder)) as server:
            connection = await connect(server.url)
            await provision(connection)
            ends = await fill(connection, sessions)
            compiling, recording = await record_all(connection, ends)
            rows = [
                (name, len(values), quantile(values, 0.5), quantile(values, 0.99))
                for name, values in (("compile", compiling), ("its record", recording))
            ]
            show("A compile and its record, ms", ("", "n", "p50", "p99"), rows)
            await both_ways(connection, sessions)
            await connection.close()


async def both_ways(connection: Connection, sessions: int) -> None:
    """Backtest with one and two processes in turn, so that both see the machine in every mood. The
    clock of a busy machine says little: `at most` is what the processor time of the busiest process
    would allow."""
    turns: dict[int, list[Backtest]] = {1: [], 2: []}
    for _ in range(TURNS):
        for processes, found in turns.items():
            found.append(await backtest_policy(connection, TENANT, SMALLER, KEY, processes))
    rows = []
    for processes, found in turns.items():
        compiles = 2 * found[0].recorded.compiles
        speeds = [compiles / one.seconds for one in found]
        total = median(sum(one.busy.values()) for one in found)
        busiest = median(max(one.busy.values()) for one in found)
        clock = (median(speeds), min(speeds), max(speeds))
        rows.append((processes, len(found), *clock, 1_000 * total / compiles, compiles / busiest))
    columns = ("processes", "turns", "compiles/s", "min", "max", "CPU ms each", "at most/s")
    show(f"Backtest of {sessions} sessions, each compile both ways", columns, rows)
    seconds = [[one.seconds for one in turns[processes]] for processes in (1, 2)]
    print(f"two processes: {ratio(*seconds):.2f} times one")


def main() -> None:
    asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else SESSIONS))


if __name__ == "__main__":
    main()
