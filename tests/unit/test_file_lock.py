"""A lock on a file: held by one, shared by several, and released with its holder."""

import asyncio
import subprocess
import sys
from pathlib import Path

from weft.file_lock import FileLock


def test_one_at_a_time_holds_it(tmp_path: Path) -> None:
    one, other = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert one.acquire()
    assert not other.acquire()
    assert other.descriptor is None
    one.release()
    assert other.acquire()


def test_several_share_it_and_nobody_has_it_alone(tmp_path: Path) -> None:
    readers = [FileLock(tmp_path / "lock", shared=True) for _ in range(2)]
    alone = FileLock(tmp_path / "lock")
    assert all(reader.acquire() for reader in readers)
    readers[0].release()
    assert not alone.acquire()
    readers[1].release()
    assert alone.acquire()


async def test_a_coroutine_that_waits_for_it_lets_others_run(tmp_path: Path) -> None:
    held, wanted = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    held.acquire()
    waiting = asyncio.create_task(wanted.acquired(0.001))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    held.release()
    await waiting
    assert wanted.descriptor is not None


def test_a_child_that_inherits_it_holds_it_until_it_ends(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    lock.acquire()
    assert lock.descriptor is not None
    child = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(lock.descriptor,)
    )
    lock.release()
    assert not FileLock(tmp_path / "lock").acquire()
    child.communicate(b"\n")
    assert FileLock(tmp_path / "lock").acquire()
