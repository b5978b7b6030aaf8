"""A replica without a read model yet: who asks waits as long as he said."""

import asyncio
import time
from pathlib import Path

import pytest

from weft.readmodel.generations import Generations
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


def publish(data_dir: Path) -> None:
    """An empty read model."""
    generations = Generations(data_dir)
    path = generations.new()
    open_writer(path).close()
    generations.publish(path)
