"""One task at a time changes a session's history."""

import asyncio
from collections.abc import Sequence

import pytest

from weft.client import histories
from weft.client.histories import Histories
from weft.client.outgoing import PublishAck
from weft_schemas.items import ContextItem, ItemKind

SAID = [ContextItem("m0", ItemKind.USER_TURN, "yes")]


class Log:
    """Accepts everything, at once or when it is told to."""

    def __init__(self) -> None:
        self.accepts = asyncio.Event()
        self.ids: list[str] = []
        self.in_progress = self.most = 0
        """Publications of the session `s`: now, and at most."""

    async def publish(self, session: str, items: Sequence[ContextItem]) -> PublishAck:
        if session == "s":
            self.in_progress += 1
            self.most = max(self.most, self.in_progress)
            await self.accepts.wait()
            await asyncio.sleep(0)
            self.in_progress -= 1
            self.ids += [item.id for item in items]
        return PublishAck(session, len(self.ids), 1, len(items), 0, ())

    async def known_ids(self, session: str) -> tuple[int, Sequence[str]]:
        return len(self.ids), self.ids if session == "s" else ()


async def test_a_task_that_waits_keeps_its_turn_however_many_sessions_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(histories, "KEPT_SESSIONS", 1)
    log = Log()
    known = Histories(log.publish, log.known_ids)

    async def append_late() -> None:
        """After the first task has ended its turn, and before the second begins its own."""
        await log.accepts.wait()
        await asyncio.sleep(0)
        for other in ("other", "another"):
            await known.append(other, [SAID])
        await known.append("s", [SAID])

    first = asyncio.create_task(known.append("s", [SAID]))
    second = asyncio.create_task(known.append("s", [SAID]))
    third = asyncio.create_task(append_late())
    await asyncio.sleep(0)
    log.accepts.set()
    await asyncio.gather(first, second, third)
    assert log.most == 1
    assert [one.partition("-")[0] for one in log.ids] == ["u1", "u2", "u3"]


async def test_a_session_that_nobody_waits_for_leaves_nothing_behind() -> None:
    log = Log()
    known = Histories(log.publish, log.known_ids)
    waiting = [asyncio.create_task(known.append("s", [SAID])) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[1].cancel()
    log.accepts.set()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert known._turns == {}
