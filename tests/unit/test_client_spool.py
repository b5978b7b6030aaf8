"""What is spooled is sent once, in order, whenever a sender dies."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from weft.client.parking import Parked, publish_accepted
from weft.client.refusals import ItemRefused
from weft.client.spool import Spool, Spooled
from weft.file_lock import FileLock
from weft_schemas.errors import Unavailable
from weft_schemas.items import ContextItem, ItemKind


class Died(Exception):
    """The end of a process."""


def spooled(text: str) -> Spooled:
    return Spooled("append", ((ContextItem("m0", ItemKind.USER_TURN, text),),))


class Log:
    """Takes items under the ids that they are given, counted up."""

    def __init__(self) -> None:
        self.items: dict[str, str] = {}
        self.settled = 0
        self.dies_after = -1

    async def settle(self, runs: Sequence[Spooled]) -> list[ContextItem]:
        items = [item for run in runs for group in run.groups for item in group]
        self.settled += len(items)
        first = self.settled - len(items)
        return [ContextItem(f"u{first + at}", one.kind, one.text) for at, one in enumerate(items)]

    async def publish(self, items: Sequence[ContextItem]) -> list[Parked]:
        return await publish_accepted(items, self._take)

    async def _take(self, items: Sequence[ContextItem]) -> None:
        if any(item.text == "refused" for item in items):
            raise ItemRefused("one of these is refused")
        for item in items:
            if self.dies_after == 0:
                self.dies_after = -1
                raise Died
            self.dies_after -= 1
            assert self.items.setdefault(item.id, item.text) == item.text


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool", "acme", "s1")


async def test_all_is_sent_in_order_and_then_gone(spool: Spool) -> None:
    log = Log()
    assert spool.is_empty()
    for text in "abc":
        spool.add(spooled(text))
    assert not spool.is_empty()
    await spool.send(log.settle, log.publish)
    assert "".join(log.items.values()) == "abc"
    assert spool.is_empty()


async def test_a_sender_that_dies_at_any_point_leaves_what_is_sent_once(spool: Spool) -> None:
    for dies_after in range(3):
        log = Log()
        log.dies_after = dies_after
        spool.add(spooled("a"))
        spool.add(spooled("b"))
        spool.add(spooled("c"))
        with pytest.raises(Died):
            await spool.send(log.settle, log.publish)
        spool.add(spooled("d"))
        await spool.send(log.settle, log.publish)
        assert "".join(log.items.values()) == "abcd"


async def test_a_sender_that_dies_before_ids_are_written_down_loses_nothing(spool: Spool) -> None:
    async def dies(runs: object) -> list[ContextItem]:
        raise Died

    log = Log()
    spool.add(spooled("a"))
    with pytest.raises(Died):
        await spool.send(dies, log.publish)
    spool.add(spooled("b"))
    await spool.send(log.settle, log.publish)
    assert "".join(log.items.values()) == "ab"


async def test_a_line_that_a_crash_cut_off_takes_no_other_with_it(
    spool: Spool, tmp_path: Path
) -> None:
    log = Log()
    spool.add(spooled("a"))
    (file,) = (tmp_path / "spool").glob("*.jsonl")
    with file.open("ab") as torn:
        torn.write(b'\n{"mode": "append", "gro')
    spool.add(spooled("b"))
    await spool.send(log.settle, log.publish)
    assert "".join(log.items.values()) == "ab"


async def test_one_process_sends_at_a_time(spool: Spool, tmp_path: Path) -> None:
    log, other = Log(), Spool(tmp_path / "spool", "acme", "s1")
    spool.add(spooled("a"))

    async def publish(items: Sequence[ContextItem]) -> list[Parked]:
        with pytest.raises(Unavailable, match="another process sends"):
            await other.send(log.settle, log.publish)
        if not log.items:
            other.add(spooled("b"))
        return await log.publish(items)

    await spool.send(log.settle, publish)
    assert "".join(log.items.values()) == "ab"


def test_each_session_has_its_own_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    one, other = Spool(tmp_path, "acme", "s1"), Spool(tmp_path, "acme", "s2")
    one.add(spooled("secret"))
    assert other.is_empty()
    assert {path.stat().st_mode & 0o77 for path in tmp_path.iterdir()} == {0}


async def test_what_is_refused_is_parked_and_the_rest_is_sent_in_order(spool: Spool) -> None:
    log = Log()
    for text in ("refused", "a", "b", "refused", "c", "refused"):
        spool.add(spooled(text))
    parked = await spool.send(log.settle, log.publish)
    assert list(log.items.values()) == ["a", "b", "c"]
    assert [one.item.id for one in parked] == ["u0", "u3", "u5"]
    assert spool.parking.parked() == tuple(parked)
    assert spool.is_empty()


async def test_a_sender_that_dies_while_it_parks_parks_each_item_once(spool: Spool) -> None:
    for dies_after in range(3):
        log = Log()
        log.dies_after = dies_after
        for text in ("a", "refused", "b", "c"):
            spool.add(spooled(text))
        with pytest.raises(Died):
            await spool.send(log.settle, log.publish)
        await spool.send(log.settle, log.publish)
        assert list(log.items.values()) == ["a", "b", "c"]
        assert [one.item.id for one in spool.parking.parked()] == ["u1"]
        spool.parking.replace([])


async def test_what_another_process_parks_before_ours_may_send_is_sent_with_the_rest(
    spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, other = Log(), Spool(tmp_path / "spool", "acme", "s1")
    ours, theirs = (
        Parked(ContextItem(name, ItemKind.USER_TURN, "x"), "forbidden", "no") for name in "ab"
    )
    (tmp_path / "spool").mkdir()
    spool.parking.replace([ours])
    acquire = FileLock.acquire

    def acquire_late(lock: FileLock, wait: bool = False) -> bool:
        other.parking.replace([*other.parking.parked(), theirs])
        return acquire(lock, wait)

    monkeypatch.setattr(FileLock, "acquire", acquire_late)
    await spool.send_parked(log.publish)
    assert list(log.items) == ["a", "b"]
    assert spool.parking.parked() == ()
