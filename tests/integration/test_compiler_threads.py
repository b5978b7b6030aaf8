"""Where a compile is done: in the service's own loop, or in a thread where it takes longer."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from weft.compiler import service
from weft.compiler.compile import compile_pack as compile_as_ever
from weft.log.connection import connect
from weft.log.publishing import Publisher
from weft.log.server import EmbeddedServer
from weft.readmodel.fold import Fold
from weft.readmodel.generations import Generations
from weft.readmodel.model import records_of
from weft.readmodel.store import open_writer
from weft.runtime.answering import Asked
from weft.runtime.process import Process
from weft.runtime.replica import Replica
from weft.runtime.settings import Settings
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextBudget, ContextPolicy, Phase


@pytest.mark.parametrize(
    ("request_", "is_short"),
    [
        (CompileRequest(Phase.CALL), True),
        (CompileRequest(Phase.ANSWER), False),
        (CompileRequest(Phase.ANSWER, budget=2_000), True),
        (CompileRequest(Phase.CALL, budget=100_000), False),
        (CompileRequest(Phase.ANSWER, policy=ContextPolicy()), True),
        (CompileRequest(Phase.ANSWER, as_of=1), True),
    ],
)
async def test_the_budget_in_force_decides(
    server: EmbeddedServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request_: CompileRequest,
    is_short: bool,
) -> None:
    generations = Generations(tmp_path)
    path = generations.new()
    large = ContextPolicy("large", budgets=ContextBudget(answer=60_000))
    turn = ContextItem("i", ItemKind.USER_TURN, "Hello there")
    db = open_writer(path)
    Fold(db).apply(records_of([turn, large], "t", "s"))
    db.close()
    generations.publish(path)
    process = Process("compiler", Settings())
    process.connection = await connect(server.url, name="compiler")
    threads: list[str] = []

    def compile_pack(*given: Any, **named: Any) -> Any:
        threads.append(threading.current_thread().name)
        return compile_as_ever(*given, **named)

    monkeypatch.setattr(service, "compile_pack", compile_pack)
    async with Replica(tmp_path) as replica, Publisher(process.connection) as publisher:
        compiler = service.Compiler(process, replica, publisher)
        made = await compiler._compiled(Asked("t", "s", request_), request_)
    await process.connection.close()
    assert made.pack.stats.included_count == 1
    assert (threads == [threading.main_thread().name]) == is_short
