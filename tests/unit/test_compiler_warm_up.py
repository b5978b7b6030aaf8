"""The rehearsal goes through every stage of the compile."""

from collections.abc import Callable
from pathlib import Path

import pytest

from weft.compiler import warm_up
from weft.compiler.compile import compile_pack
from weft.compiler.without_log import compile_context
from weft.readmodel.model import ReadModel, records_of
from weft.replica_service import service
from weft.runtime.replica import Replica
from weft_schemas.compile import ContextPack
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase


def test_every_phase_keeps_some_turns_and_drops_others(monkeypatch: pytest.MonkeyPatch) -> None:
    packs: list[ContextPack] = []
    monkeypatch.setattr(
        warm_up, "compile_context", lambda *a, **k: packs.append(compile_context(*a, **k))
    )
    warm_up.rehearse("o200k_base")
    assert [pack.phase for pack in packs] == list(Phase)
    for pack in packs:
        assert pack.stats.included_count
        assert pack.stats.dropped_reasons["budget"]


def test_the_sessions_last_active_are_compiled_in_every_phase(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    records = []
    for number, session in enumerate(("old", "newer", "newest"), 1):
        turn = ContextItem("a", ItemKind.USER_TURN, f"the {session} turn")
        records += records_of([turn], "acme", session, number, number)
    packs: list[ContextPack] = []

    def compiling(*given, **named):  # type: ignore[no-untyped-def]
        compilation = compile_pack(*given, **named)
        packs.append(compilation.pack)
        return compilation

    monkeypatch.setattr(warm_up, "compile_pack", compiling)
    warm_up.rehearse_recent(ReadModel.in_memory(records))
    assert [(pack.session, pack.phase) for pack in packs] == [
        (session, phase) for session in ("newest", "newer") for phase in Phase
    ]


async def test_a_process_starts_without_a_read_model_and_beside_a_session_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with Replica(tmp_path) as replica:
        await service._rehearse_recent(replica)
        assert not caplog.records

        def failing(model: ReadModel) -> None:
            raise KeyError("a fault of the compile")

        async def read(work: Callable[[ReadModel], None]) -> None:
            work(ReadModel.in_memory([]))

        monkeypatch.setattr(replica, "read", read)
        monkeypatch.setattr(service, "rehearse_recent", failing)
        await service._rehearse_recent(replica)
    assert "could not be compiled" in caplog.text
