"""Files that outlive a crash."""

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from weft.durable_files import decoded_lines, replace_durably, write_durably


class Line(msgspec.Struct):
    number: int


def test_a_file_is_replaced_as_a_whole_and_is_its_owners(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a longer content")
    replace_durably(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_where_the_disk_fails_the_old_content_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    replace_durably(path, b"old")

    def failing(descriptor: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match="no space"):
        replace_durably(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What is written through to disk, in order."""
    found: list[Path] = []

    def noting(descriptor: int) -> None:
        found.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")))
        sync(descriptor)

    sync = os.fsync
    monkeypatch.setattr(os, "fsync", noting)
    return found


def test_the_name_of_a_new_file_is_on_disk_too(tmp_path: Path, synced: list[Path]) -> None:
    path = tmp_path / "file"
    write_durably(path, b"a")
    assert synced == [path, tmp_path]
    write_durably(path, b"b", os.O_APPEND)
    assert synced == [path, tmp_path, path]


def test_that_a_file_was_replaced_is_on_disk_too(tmp_path: Path, synced: list[Path]) -> None:
    replace_durably(tmp_path / "file", b"new")
    assert [path.name[:5] for path in synced] == ["file.", tmp_path.name[:5]]
    assert synced[1] == tmp_path


def test_a_file_system_that_cannot_sync_folders_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", refusing)
    replace_durably(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_line_that_a_crash_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    write_durably(path, b'{"number":1}\n')
    write_durably(path, b'{"number":2}\n{"numb', os.O_APPEND)
    assert decoded_lines(path, Line) == [Line(1), Line(2)]


def test_threads_that_replace_a_file_together_each_have_a_draft(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: replace_durably(path, b"%d" % number), range(200)))
    assert list(tmp_path.iterdir()) == [path]
