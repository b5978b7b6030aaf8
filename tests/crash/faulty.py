"""Two processes that break a rule on purpose, to show that the tests would notice.

`python -m tests.crash.faulty work firewall` acknowledges a source before it publishes what it
derived; `… work indexer` commits its checkpoint before the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from weft.cli.main import main
from weft.log.consuming import Delivery
from weft.log.record import LogRecord
from weft.readmodel import fold
from weft.readmodel.fold import Folded
from weft.readmodel.store import set_meta
from weft.workers import worker_loop

_take = worker_loop.WorkerLoop.take
_apply = fold.Fold.apply


async def take_after_ack(self: worker_loop.WorkerLoop, batch: list[Delivery]) -> None:
    for delivery in batch:
        delivery.ack()
    await self._process.connection.flush()
    await _take(self, batch)


def apply_after_checkpoint(
    self: fold.Fold,
    records: Iterable[LogRecord],
    through: int = 0,
    identity: str = "",
    step: Callable[[str], None] = lambda name: None,
) -> Folded:
    set_meta(self._db, "checkpoint", through)
    set_meta(self._db, "identity", identity)
    return _apply(self, records, through, identity, step)


if __name__ == "__main__":
    worker_loop.WorkerLoop.take = take_after_ack  # type: ignore[method-assign]
    fold.Fold.apply = apply_after_checkpoint  # type: ignore[method-assign]
    main()
