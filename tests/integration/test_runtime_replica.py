"""A replica without a read model yet: who asks waits as long as he said."""

import asyncio
import gc
import threading
import time
from pathlib import Path

import pytest

from weft.file_lock import FileLock
from weft.readmodel.generations import Generations, Reader
from weft.readmodel.model import ReadModel
from weft.readmodel.store import open_writer
from weft.runtime.replica import Replica
from weft_schemas.errors import Unavailable


async def test_a_read_model_that_comes_in_time_is_read(tmp_path: Path) -> None:
    async with Replica(tmp_path) as replica:
        reaching = asyncio.create_task(replica.reach(0, replica.deadline(60)))
        await asyncio.sleep(0.05)
        assert not reaching.done()
        publish(tmp_path)
        assert await reaching == 0


async def test_a_wait_in_which_the_process_was_held_up_goes_on(tmp_path: Path) -> None:
    async with Replica(tmp_path) as replica:
        reaching = asyncio.create_task(replica.reach(0, replica.deadline(0.5)))
        await asyncio.sleep(0.05)
        time.sleep(1.0)  # noqa: ASYNC251 (nothing else in the process runs)
        await asyncio.sleep(0.05)
        assert not reaching.done()
        publish(tmp_path)
        assert await reaching == 0
        assert replica.is_late(replica.deadline(0.0))


async def test_one_that_does_not_come_is_named(tmp_path: Path) -> None:
    async with Replica(tmp_path) as replica:
        with pytest.raises(Unavailable, match="no read model yet"):
            await replica.reach(0, replica.deadline(0.05))


async def test_short_reads_take_turns_with_everything_else(tmp_path: Path) -> None:
    publish(tmp_path)
    names: list[str] = []

    def work(_: ReadModel) -> None:
        names.append(threading.current_thread().name)

    async with Replica(tmp_path) as replica:
        reads = [asyncio.create_task(replica.read_here("acme", work)) for _ in range(5)]
        turns = 0
        while not all(read.done() for read in reads):
            await asyncio.sleep(0)
            turns += 1
        assert turns >= len(reads)
        await replica.read(work)
    assert names[:5] == [threading.main_thread().name] * 5
    assert names[5] != threading.main_thread().name


async def test_reads_in_a_thread_are_one_at_a_time_and_tenants_take_turns(tmp_path: Path) -> None:
    publish(tmp_path)
    done: list[str] = []

    async def read(replica: Replica, tenant: str) -> None:
        def work(_: ReadModel) -> None:
            assert threading.current_thread() is not threading.main_thread()
            done.append(tenant)

        await replica.read_fairly(tenant, work)

    async with Replica(tmp_path) as replica:
        await asyncio.gather(*(read(replica, tenant) for tenant in ["acme"] * 4 + ["globex"]))
    assert done == ["acme", "acme", "globex", "acme", "acme"]


async def test_readers_without_work_let_go_of_a_generation_that_was_replaced(
    tmp_path: Path,
) -> None:
    generations = Generations(tmp_path)
    publish(tmp_path)
    old = generations.current()
    assert old is not None
    async with Replica(tmp_path) as replica:
        both = threading.Barrier(2)
        await asyncio.gather(*(replica.read(lambda _: both.wait()) for _ in range(2)))
        assert replica.watermark() == 0
        publish(tmp_path)
        assert generations.sweep() == []
        async with asyncio.timeout(60):
            while old.exists():
                await asyncio.sleep(0.05)
                generations.sweep()
        assert await replica.read(lambda model: model.watermark()) == 0


async def test_a_read_that_is_given_up_while_the_file_is_opened_leaves_it_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(tmp_path)
    path = Generations(tmp_path).current()
    assert path is not None
    begun, go_on = threading.Event(), threading.Event()
    opening = Reader.model

    def slowly(reader: Reader) -> ReadModel:
        begun.set()
        go_on.wait(60)
        return opening(reader)

    async with Replica(tmp_path) as replica:
        monkeypatch.setattr(Reader, "model", slowly)
        reading = asyncio.create_task(replica.read(lambda model: None))
        await asyncio.to_thread(begun.wait, 60)
        gc.disable()  # which would close it some day
        try:
            reading.cancel()
            go_on.set()
            with pytest.raises(asyncio.CancelledError):
                await reading
            del reading
            lock = FileLock(path.with_name(f"{path.name}.readers"))
            assert lock.acquire(), "no reader holds the file"
            lock.release()
        finally:
            gc.enable()


def publish(data_dir: Path) -> None:
    """An empty read model."""
    generations = Generations(data_dir)
    path = generations.new()
    open_writer(path).close()
    generations.publish(path)
