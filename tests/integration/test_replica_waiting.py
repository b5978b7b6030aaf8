"""A replica without a read model yet: who asks waits as long as he said."""

import asyncio
from pathlib import Path

import pytest

from weft.readmodel.generations import Generations
from weft.readmodel.store import open_writer
from weft.runtime.replica import Replica
from weft_schemas.errors import Unavailable


async def test_a_read_model_that_comes_in_time_is_read(tmp_path: Path) -> None:
    clock = asyncio.get_running_loop().time
    async with Replica(tmp_path) as replica:
        reaching = asyncio.create_task(replica.reach(0, clock() + 30))
        await asyncio.sleep(0.05)
        assert not reaching.done()
        generations = Generations(tmp_path)
        path = generations.new()
        open_writer(path).close()
        generations.publish(path)
        assert await reaching == 0


async def test_one_that_does_not_come_is_named(tmp_path: Path) -> None:
    clock = asyncio.get_running_loop().time
    async with Replica(tmp_path) as replica:
        with pytest.raises(Unavailable, match="no read model yet"):
            await replica.reach(0, clock() + 0.05)
