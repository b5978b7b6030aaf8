"""How a read model begins, and one whose file cannot be read, whatever SQLite says of it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from weft.indexer.starting import check_replaceable
from weft.indexer.writer import Writer
from weft.log.connection import Connection
from weft.readmodel import store
from weft.readmodel.page_checksums import PageChecksums
from weft.readmodel.store import (
    MEMORY,
    get_meta,
    open_reader,
    open_writer,
    schema_version,
    set_meta,
)
from weft_schemas.errors import Corrupt


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A file whose schema SQLite quotes in its error message, with a byte that is no text."""
    path = tmp_path / "a.sqlite"
    open_writer(path).close()
    content = path.read_bytes()
    assert b"CREATE TABLE meta" in content
    path.write_bytes(content.replace(b"CREATE TABLE meta", b"CREATE \xa5ABLE meta"))
    return path


async def test_a_reader_a_writer_and_a_start_tell_that_it_is_damaged(damaged: Path) -> None:
    with pytest.raises(Corrupt, match=r"a\.sqlite"):
        open_reader(damaged)
    nobody = cast(Connection, None)  # the log is not asked
    await check_replaceable(nobody, damaged, "cl100k_base")
    assert not PageChecksums(damaged).are_known()
    with pytest.raises(Corrupt, match=r"a\.sqlite.*made anew"):
        await Writer.open(damaged, "cl100k_base")


def test_a_read_model_in_memory_begins_as_a_file_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever one before holds by now, and after one of another version of the fold."""
    for version in (1, 2):
        monkeypatch.setattr(store, "FOLD_VERSION", version)
        set_meta(open_writer(MEMORY), "checkpoint", 7)
        made, stored = open_writer(MEMORY), open_writer(tmp_path / str(version))
        with closing(made) as ours, closing(stored) as db:
            is_same = list(ours.iterdump()) == list(db.iterdump())
            assert is_same  # a difference takes a minute to be told
            assert get_meta(ours, "schema_version") == schema_version()
