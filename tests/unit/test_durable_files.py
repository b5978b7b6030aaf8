"""Files that outlive a crash."""

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
