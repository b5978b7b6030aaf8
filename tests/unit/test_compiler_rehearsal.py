"""The rehearsal goes through every stage of the compile."""

import pytest

from weft.compiler import rehearsal
from weft.compiler.context import compile_context
from weft_schemas.compile import ContextPack
from weft_schemas.policy import Phase


def test_every_phase_keeps_some_turns_and_drops_others(monkeypatch: pytest.MonkeyPatch) -> None:
    packs: list[ContextPack] = []
    monkeypatch.setattr(
        rehearsal, "compile_context", lambda *a, **k: packs.append(compile_context(*a, **k))
    )
    rehearsal.rehearse("cl100k_base")
    assert [pack.phase for pack in packs] == list(Phase)
    for pack in packs:
        assert pack.stats.included_count
        assert pack.stats.dropped_reasons["budget"]
