"""Rebuilds beside a live replica: whoever compiles meanwhile notices nothing."""

import asyncio
import contextlib
import errno

import pytest
from tests.integration.compiling import compiled, compiling
from tests.integration.indexer_process import indexer
from tests.integration.logged import publish

from weft.indexer.rebuild import rebuild
from weft.log.api import call
from weft.log.connection import Connection
from weft.readmodel.generations import Generations, Reader
from weft.snapshots.snapshot import take
from weft_schemas.errors import ConfigurationError, Corrupt
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.subjects import STREAM

SWAPS = 3
PATIENCE = 120.0


def turns(first: int, count: int) -> list[ContextItem]:
    return [
        ContextItem(f"u{n}", ItemKind.USER_TURN, f"Invoice {n} is open.")
        for n in range(first, first + count)
    ]


async def test_no_compile_fails_or_reads_an_older_state_while_generations_are_swapped(
    server, log: Connection, tmp_path
):
    acks = await publish(log, "s1", turns(0, 400))
    async with (
        indexer(server.url, tmp_path, WEFT_LOG_LEVEL="error"),
        compiling(server.url, tmp_path),
    ):
        seen = [await compiled(log, after=acks[-1].sequence, timeout=60.0)]

        async def compile_on() -> None:
            while True:
                seen.append(await compiled(log, query=f"invoice {len(seen)}"))

        asking = asyncio.create_task(compile_on())
        async with asyncio.timeout(PATIENCE):
            for swap in range(SWAPS):
                before = len(seen)
                built = await rebuild(log, tmp_path, "o200k_base")
                assert built.equal
                await publish(log, "s1", turns(400 + swap, 1))
                while len(seen) < before + 3:
                    await asyncio.sleep(0.01)
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking
    sequences = [pack.sequence for pack in seen]
    assert sequences == sorted(sequences)
    assert sequences[-1] >= acks[-1].sequence + 1
    assert all(pack.stats.included_count for pack in seen)


async def test_a_rebuild_that_fails_leaves_no_file(log: Connection, tmp_path) -> None:
    await publish(log, "s1", turns(0, 3))

    def fail(folded: int, last: int) -> None:
        raise OSError(errno.ENOSPC, "as on a full disk")

    with pytest.raises(OSError, match="full disk"):
        await rebuild(log, tmp_path, "o200k_base", fail)
    assert not list(Generations(tmp_path).folder.glob("generation*"))


async def test_a_rebuild_whose_generation_is_given_up_does_not_wait_for_it(
    log: Connection, tmp_path
) -> None:
    await publish(log, "s1", turns(0, 3))
    generations = Generations(tmp_path)
    live = generations.writer_lock()
    assert live.acquire()
    rebuilding = asyncio.create_task(rebuild(log, tmp_path, "o200k_base"))
    async with asyncio.timeout(PATIENCE):
        while generations.successor() is None:
            await asyncio.sleep(0.01)
        generations.successor.clear()
        while not generations.sweep():
            await asyncio.sleep(0.01)
        with pytest.raises(Corrupt, match="the live indexer gave it up"):
            await rebuilding
    live.release()


async def test_what_somebody_purged_is_not_deleted_from_the_read_model_as_well(
    log: Connection, tmp_path
) -> None:
    await publish(log, "s1", turns(0, 10))
    await rebuild(log, tmp_path, "o200k_base")
    await call(log, f"STREAM.PURGE.{STREAM}")
    await publish(log, "s1", turns(10, 2))
    with pytest.raises(ConfigurationError, match=r"before 11 left the log: .* holds 10 items of"):
        await rebuild(log, tmp_path, "o200k_base")
    await take(log, tmp_path)
    await rebuild(log, tmp_path, "o200k_base", snapshot=True)
    with Reader(tmp_path) as reader:
        assert reader.model().view("acme", "s1").item_count() == 12
