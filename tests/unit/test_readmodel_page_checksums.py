"""Damage to a read model's file is noticed, and what its writer does is not taken for damage."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from weft.readmodel.fold import Fold
from weft.readmodel.model import records_of
from weft.readmodel.page_checksums import PageChecksums
from weft.readmodel.store import open_reader, open_writer
from weft_schemas.errors import Corrupt
from weft_schemas.items import ContextItem, ItemKind


def turns(first: int, count: int) -> list[ContextItem]:
    chance = random.Random(first)
    return [
        ContextItem(f"i{first + n}", ItemKind.USER_TURN, chance.randbytes(400).hex())
        for n in range(count)
    ]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "generation-000001.sqlite"


@pytest.fixture
def db(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_writer(path)) as writer:
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        yield writer


def fold(db: sqlite3.Connection, first: int, count: int = 200) -> None:
    Fold(db).apply(records_of(turns(first, count), "t", "s", first))


def written_back(pages: PageChecksums, db: sqlite3.Connection) -> bool:
    return pages.write_back(db, 0)


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0xFF
    path.write_bytes(content)


def test_a_flipped_byte_anywhere_is_damage(path: Path, db: sqlite3.Connection) -> None:
    pages = PageChecksums(path)
    pages.store_all()
    fold(db, 1)
    assert written_back(pages, db)
    size = path.stat().st_size
    for at in (0, 18, 100, 4095, 4096, size // 2, size - 1):
        flip(path, at)
        with pytest.raises(Corrupt, match=f"page {at // 4096 + 1} is damaged"):
            PageChecksums(path).check()
        flip(path, at)
    PageChecksums(path).check()


def test_what_the_writer_writes_is_no_damage(path: Path, db: sqlite3.Connection) -> None:
    pages, reader = PageChecksums(path), PageChecksums(path)
    pages.store_all()
    for batch in range(5):
        fold(db, 1 + 200 * batch)
        assert written_back(pages, db)
        reader.check_if_touched()
        PageChecksums(path).check()
    db.execute("DELETE FROM items WHERE sequence > 100")
    db.execute("VACUUM")
    assert written_back(pages, db)
    PageChecksums(path).check()


def test_where_a_reader_holds_the_writer_up_the_rest_is_noted_later(
    path: Path, db: sqlite3.Connection
) -> None:
    pages = PageChecksums(path)
    pages.store_all()
    fold(db, 1)
    with closing(open_reader(path)) as reading:
        reading.execute("BEGIN")
        reading.execute("SELECT count(*) FROM items").fetchone()
        fold(db, 201)
        assert not written_back(pages, db)
        PageChecksums(path).check()
    assert written_back(pages, db)
    PageChecksums(path).check()


def test_another_s_write_is_seen_by_a_look_at_the_file(path: Path, db: sqlite3.Connection) -> None:
    pages, reader = PageChecksums(path), PageChecksums(path)
    pages.store_all()
    fold(db, 1)
    written_back(pages, db)
    reader.check_if_touched()
    flip(path, 5_000)
    with pytest.raises(Corrupt):
        reader.check_if_touched()


def test_what_changes_without_a_trace_is_found_by_looking_on(
    path: Path, db: sqlite3.Connection
) -> None:
    pages = PageChecksums(path)
    pages.store_all()
    fold(db, 1)
    written_back(pages, db)
    before = path.stat()
    flip(path, path.stat().st_size - 10)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    PageChecksums(path).check_if_touched()
    looks = before.st_size // 8_192 + 1
    with pytest.raises(Corrupt):
        list(map(pages.check_next, [8_192] * looks))


def test_damage_is_not_written_over_and_so_taken_for_right(
    path: Path, db: sqlite3.Connection
) -> None:
    pages = PageChecksums(path)
    pages.store_all()
    fold(db, 1)
    written_back(pages, db)
    fold(db, 201)
    flip(path, 4_200)
    with pytest.raises(Corrupt):
        written_back(pages, db)


def dies_writing_back(
    pages: PageChecksums, db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pages are in the file, their checksums are not."""
    with monkeypatch.context() as dying:
        dying.setattr(PageChecksums, "_update", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            written_back(pages, db)


def test_a_writer_that_dies_while_it_writes_back_leaves_no_false_damage(
    path: Path, db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = PageChecksums(path)
    pages.store_all()
    fold(db, 1)
    dies_writing_back(pages, db, monkeypatch)
    PageChecksums(path).check_if_touched()
    PageChecksums(path).check()
    again = PageChecksums(path)
    again.recover()
    again.check()
    fold(db, 201)
    assert written_back(again, db)
    PageChecksums(path).check()


def test_what_rots_while_it_is_written_back_is_not_taken_for_right(
    path: Path, db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages, updating = PageChecksums(path), PageChecksums._update
    pages.store_all()
    fold(db, 1)

    def late(*given: object, **named: object) -> None:
        flip(path, 4_200)
        updating(*given, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as rotting:
        rotting.setattr(PageChecksums, "_update", late)
        with pytest.raises(Corrupt, match="page 2 is damaged"):
            written_back(pages, db)
    with pytest.raises(Corrupt, match="page 2 is damaged"):
        PageChecksums(path).check()


def test_what_rots_while_nobody_settles_it_is_not_taken_for_right(
    path: Path, db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = PageChecksums(path)
    pages.store_all()
    fold(db, 1)
    dies_writing_back(pages, db, monkeypatch)
    flip(path, 4_200)
    with pytest.raises(Corrupt, match="page 2 is damaged"):
        PageChecksums(path).recover()


def test_a_writer_that_closes_leaves_all_in_the_file_though_a_reader_has_it_open(
    path: Path, db: sqlite3.Connection
) -> None:
    pages = PageChecksums(path)
    pages.store_all()
    fold(db, 1)
    with closing(open_reader(path)):
        pages.close(db)
        assert not path.with_name(f"{path.name}-wal").stat().st_size
        assert turns(1, 1)[0].text.encode() in path.read_bytes()
        PageChecksums(path).check()


@pytest.mark.parametrize("seed", range(4))
def test_readers_that_hold_the_writer_up_anywhere_make_no_false_damage(
    path: Path, db: sqlite3.Connection, seed: int
) -> None:
    """What SQLite writes back is what its write-ahead log was read to say, whatever it does."""
    chance, pages, at = random.Random(seed), PageChecksums(path), 1
    pages.store_all()
    reading: list[sqlite3.Connection] = []
    for _ in range(120):
        match chance.choice(["fold", "delete", "undo", "read", "leave", "back", "back", "vacuum"]):
            case "fold":
                fold(db, at, 20)
                at += 20
            case "delete":
                db.execute("DELETE FROM items WHERE sequence % 7 = ?", (chance.randrange(7),))
            case "undo":
                db.execute("PRAGMA cache_size = 10")
                db.execute("BEGIN")
                db.execute("UPDATE items SET sequence = -sequence")
                db.execute("ROLLBACK")
            case "read":
                reading.append(open_reader(path))
                reading[-1].execute("BEGIN")
                reading[-1].execute("SELECT count(*) FROM items").fetchone()
            case "leave" if reading:
                reading.pop(chance.randrange(len(reading))).close()
            case "vacuum" if not reading:
                db.execute("VACUUM")
            case "back":
                written_back(pages, db)
                PageChecksums(path).check()
                pages.check_next(1 << 30)
    for reader in reading:
        reader.close()
    assert written_back(pages, db)
    PageChecksums(path).check()


def test_damaged_checksums_are_damage(path: Path, db: sqlite3.Connection) -> None:
    PageChecksums(path).store_all()
    flip(path.with_name(f"{path.name}.checksums"), 10)
    with pytest.raises(Corrupt, match="checksums"):
        PageChecksums(path).check()
