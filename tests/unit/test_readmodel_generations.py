"""Generations: readers move over between requests, and nothing that is read goes away."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from weft.file_lock import FileLock
from weft.readmodel.fold import Fold
from weft.readmodel.generations import Generations, Pointer, Reader, reader_lock
from weft.readmodel.model import ReadModel, records_of
from weft.readmodel.store import open_writer
from weft_schemas.errors import Unavailable
from weft_schemas.items import ContextItem, ItemKind


def made(generations: Generations, text: str) -> Path:
    """A generation that holds one item."""
    path = generations.new()
    db = open_writer(path)
    Fold(db).apply(records_of([ContextItem("a", ItemKind.USER_TURN, text)], "t", "s"))
    db.close()
    return path


def text_in(reader: Reader) -> str:
    return reader.model().view("t", "s").recent(1)[0].text


def test_without_a_generation_there_is_a_clear_error(tmp_path: Path) -> None:
    with Reader(tmp_path) as reader, pytest.raises(Unavailable, match="indexer"):
        reader.model()


def test_a_reader_moves_to_the_new_generation_with_its_next_request(tmp_path: Path) -> None:
    generations = Generations(tmp_path)
    generations.publish(made(generations, "old"))
    with Reader(tmp_path) as reader:
        view = reader.model().view("t", "s")
        generations.publish(made(generations, "new"))
        assert view.recent(1)[0].text == "old"
        assert text_in(reader) == "new"


@pytest.mark.parametrize("swept", [False, True], ids=["replaced", "being swept"])
def test_a_swap_while_a_reader_opens_is_not_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swept: bool
) -> None:
    generations = Generations(tmp_path)
    old = made(generations, "old")
    generations.publish(old)
    new = made(generations, "new")
    named = Pointer.__call__
    sweeping = FileLock(old.with_name(f"{old.name}.readers"))

    def then_swapped(self: Pointer) -> Path | None:
        found = named(self)
        monkeypatch.setattr(Pointer, "__call__", named)
        generations.publish(new)
        if swept:
            sweeping.acquire()
        return found

    monkeypatch.setattr(Pointer, "__call__", then_swapped)
    with Reader(tmp_path) as reader:
        assert text_in(reader) == "new"
    sweeping.release()


def test_an_old_generation_goes_when_its_last_reader_has_left(tmp_path: Path) -> None:
    generations = Generations(tmp_path)
    old = made(generations, "old")
    generations.publish(old)
    with Reader(tmp_path) as reader:
        assert text_in(reader) == "old"
        generations.publish(made(generations, "new"))
        assert generations.sweep() == []
        assert text_in(reader) == "new"
        assert generations.sweep() == [old]
    assert not [path for path in generations.folder.iterdir() if path.name.startswith(old.name)]


def test_what_is_offered_during_a_sweep_stays(tmp_path: Path, monkeypatch) -> None:
    """Its builder names it, then lets its lock go: between a look at the names and one at the
    lock."""
    generations = Generations(tmp_path)
    generations.publish(made(generations, "current"))
    path = made(generations, "successor")

    def offered() -> list[Path]:
        generations.successor.set(path)
        return [path]

    monkeypatch.setattr(generations, "_files", offered)
    assert generations.sweep() == []
    assert generations.successor() == path


def test_what_is_being_built_or_offered_is_not_swept(tmp_path: Path) -> None:
    generations = Generations(tmp_path)
    generations.publish(made(generations, "current"))
    path = made(generations, "successor")
    building = reader_lock(path)
    building.acquire()
    assert generations.sweep() == []
    generations.successor.set(path)
    building.release()
    assert generations.sweep() == []
    generations.successor.clear()
    assert generations.sweep() == [path]


def test_a_name_is_never_given_twice_while_a_file_has_it(tmp_path: Path) -> None:
    generations = Generations(tmp_path)
    assert made(generations, "one") != made(generations, "two")


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    first, second = (Generations(tmp_path).writer_lock() for _ in range(2))
    assert first.acquire()
    assert not second.acquire()
    first.release()
    assert second.acquire()
    second.release()


def test_a_pointer_to_nowhere_is_no_generation(tmp_path: Path) -> None:
    generations = Generations(tmp_path)
    for content in ("generation-000009.sqlite", "../elsewhere", ""):
        (generations.folder / "current").write_text(content)
        assert generations.current() is None


def test_what_was_folded_of_a_lost_log_is_set_aside_when_nobody_reads_it(tmp_path: Path) -> None:
    generations = Generations(tmp_path)
    old = made(generations, "old")
    generations.publish(old)
    with Reader(tmp_path) as reader:
        assert text_in(reader) == "old"
        named = generations.retire(old, 7)
        generations.publish(made(generations, "new"))
        assert generations.sweep() == []
        assert (text_in(reader), generations.earlier()) == ("new", None)
        assert generations.sweep() == [old]
    assert generations.earlier() == named
    assert named.name == "earlier-log-through-7.sqlite"
    assert text_of(named) == "old"
    assert not [path for path in generations.folder.iterdir() if path.name.startswith(old.name)]


def text_of(path: Path) -> str:
    model = ReadModel.open(path)
    try:
        return model.view("t", "s").recent(1)[0].text
    finally:
        model.close()


@pytest.mark.parametrize("swept", [False, True], ids=["at once", "one after the other"])
@pytest.mark.parametrize("counts", [(9, 3), (3, 9), (9, 0, 3)])
def test_of_several_lost_logs_the_one_that_was_folded_furthest_is_kept(
    tmp_path: Path, counts: tuple[int, ...], swept: bool
) -> None:
    generations = Generations(tmp_path)
    for count in counts:
        path = made(generations, f"up to {count}")
        named = generations.retire(path, count)
        if swept:
            generations.sweep()
    generations.sweep()
    assert named == generations.earlier()
    kept = [path.name for path in generations.folder.glob("*.sqlite")]
    assert kept == ["earlier-log-through-9.sqlite"]
    assert text_of(named) == "up to 9"


def test_a_sweep_that_was_killed_while_it_set_a_file_aside_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generations = Generations(tmp_path)
    path = made(generations, "old")
    path.with_name(f"{path.name}.checksums").touch()
    generations.retire(path, 7)

    def killed(source: Path, target: Path) -> None:
        if source == path:
            raise KeyboardInterrupt
        replace(source, target)

    replace = os.replace
    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        generations.sweep()
    monkeypatch.undo()
    assert generations.sweep() == [path]
    kept = sorted(one.name for one in generations.folder.iterdir())
    assert kept == ["earlier-log-through-7.sqlite", "earlier-log-through-7.sqlite.checksums"]
