"""A replica's read model kept up with the log by the test itself, one batch at a time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from weft.log.connection import Connection
from weft.log.following import Follower
from weft.readmodel.fold import Fold
from weft.readmodel.generations import Generations
from weft.readmodel.store import open_writer


@asynccontextmanager
async def folding(log: Connection, data_dir: Path) -> AsyncIterator[Follower]:
    """Folds everything as it comes until the block ends."""
    generations = Generations(data_dir)
    path = generations.new()
    db = open_writer(path)
    fold = Fold(db)
    generations.publish(path)
    async with Follower(log) as follower:

        async def follow() -> None:
            async for followed in follower:
                fold.apply(followed.records, followed.through)

        task = asyncio.create_task(follow())
        try:
            yield follower
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            db.close()
