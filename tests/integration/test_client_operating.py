"""The operator's commands from Python, on a real log: the same functions as the command line's."""

import asyncio
import io

import pytest
from tests.integration.compiling import TURN, compiled, compiling
from tests.integration.folding import folding
from tests.integration.logged import publish, publish_raw

from weft.client import connect
from weft.log.connection import Connection
from weft.log.reading import last_sequence
from weft_schemas.errors import ConfigurationError, NotFound
from weft_schemas.events import Origin, ParkedEvent, encode_event
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextBudget, ContextPolicy
from weft_schemas.subjects import derived_subject

LATER = ContextItem("u2", ItemKind.USER_TURN, "And the paid ones?")
TINY = ContextPolicy(name="tiny", budgets=ContextBudget(1, 1, 1, 1))


async def test_an_operator_works_from_python(server, log: Connection, tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_DATA_DIR", str(tmp_path))
    async with folding(log, tmp_path) as follower, compiling(server.url, tmp_path):
        [first] = await publish(log, "s1", [TURN])
        one = await compiled(log, after=first.sequence)
        [second] = await publish(log, "s1", [LATER])
        two = await compiled(log, after=second.sequence)
        async with connect(server.url, tenant="acme") as client:
            operator = client.operator

            [change] = (await operator.diff(one.id, two.id)).changes
            assert (change.item_id, change.change) == ("u2", "came")
            done = await operator.backtest(TINY)
            assert (done.recorded.compiles, done.proposed.included) == (2, 0)

            fork = await operator.fork("s1", second.sequence, "s1-again")
            assert fork.items == 2
            with pytest.raises(NotFound):
                await operator.rederive("memory", "unknown")
            assert (await operator.rederive("summarizer", "s1")).failed == []

            file = io.BytesIO()
            exported = await operator.export(file, "s1")
            file.seek(0)
            imported = await operator.import_(file, "s1-moved")
            assert imported.digest == exported.digest

            parked = ParkedEvent(Origin(second.sequence, "u2", "memory"), "failed", "no reason", 3)
            await publish_raw(log, derived_subject("acme", "s1", "parked"), encode_event(parked))
            [letter] = await operator.dead_letters()
            assert letter.sequence == second.sequence
            assert await operator.revive(letter, drop=True) > second.sequence
            [dropped] = await operator.dead_letters("s1")
            assert dropped.dropped

            while follower.through < await last_sequence(log):
                await asyncio.sleep(0.02)
            assert (await operator.verify()).findings == []
            built = await operator.rebuild(tmp_path / "again")
            taken = await operator.snapshot(tmp_path / "again")
            assert taken.digest == built.digest
            with pytest.raises(ConfigurationError, match="needs a snapshot"):
                await operator.trim(taken.sequence + 10)
            erased = await operator.erase("s1", "asked for")
            assert erased.forks == ("s1-again",)
            assert (await operator.erase_tenant()).removed["events"] > 0
