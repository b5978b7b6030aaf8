"""The recorded session: every kind, every size, nothing of the machine that recorded it."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.data import ROOT

from weft.cli import demo, main
from weft.cli.demo_session import KEY_MARK, SESSION_FILE, demo_key, load
from weft.tokens import count
from weft_schemas.items import ItemKind, Sensitivity, check_item


def test_it_holds_all_eight_kinds_with_unique_ids():
    items = load()
    assert {item.kind for item in items} == set(ItemKind)
    assert len({item.id for item in items}) == len(items)
    assert 40 <= len(items) <= 80
    for item in items:
        check_item(item)


def test_every_call_has_its_result_and_two_turns_call_in_parallel():
    items = load()
    calls = {item.id: item for item in items if item.kind is ItemKind.TOOL_CALL}
    results = [item for item in items if item.kind is ItemKind.TOOL_RESULT]
    assert sorted(result.parent_id or "" for result in results) == sorted(calls)
    for result in results:
        assert result.reserved.call_id == calls[result.parent_id or ""].reserved.call_id
    turns = [call.reserved.turn_id for call in calls.values()]
    assert len(turns) - len(set(turns)) >= 2


def test_results_reach_from_a_few_tokens_to_more_than_the_object_store_threshold():
    texts = [item.text for item in load() if item.kind is ItemKind.TOOL_RESULT]
    assert min(count(text) for text in texts) < 20
    assert sum(len(text.encode()) > 256 * 1024 for text in texts) == 1
    assert sum(count(text) > 500 for text in texts) >= 4
    assert any(text.count("\n") > 2_000 for text in texts)


def test_the_fake_key_is_in_a_result_and_not_in_the_file():
    assert demo_key() not in SESSION_FILE.read_text()
    assert KEY_MARK in SESSION_FILE.read_text()
    holders = [item for item in load() if demo_key() in item.text]
    assert [item.kind for item in holders] == [ItemKind.TOOL_RESULT]


def test_the_file_is_small_and_names_no_machine():
    raw = SESSION_FILE.read_text()
    assert len(raw) < 1_500_000
    assert not re.search(
        r"/root/|/home/(?!agent/)|/tmp/(?!build)|127\.0\.0\.1|https?://(?!orders\.example)", raw
    )


def test_one_turn_is_at_the_default_floor():
    assert [item.kind for item in load() if item.sensitivity.reaches(Sensitivity.CONFIDENTIAL)] == [
        ItemKind.USER_TURN
    ]


def test_without_the_recording_the_demo_says_where_to_find_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("weft.cli.demo_session.SESSION_FILE", tmp_path / "none.jsonl")
    assert main.run(["demo", "--data", str(tmp_path / "data")]) == 4
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "run `make demo` in a checkout" in said
    assert not (tmp_path / "data").exists()


def test_the_wheel_goes_without_the_recording() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    excluded = build["targets"]["wheel"]["exclude"]
    assert excluded == [str(SESSION_FILE.relative_to(ROOT))]


def test_progress_is_a_line_for_each_change_also_to_a_state_of_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    client: Any = None
    for _ in ("one chapter", "a later one"):
        folding = demo._Folding(client, "s", 9)
        for pending in (2, 2, 1, 2):
            folding._show(5, 3, pending)
    told = [int(line.split()[6]) for line in capsys.readouterr().out.splitlines()]
    assert told == [2, 1, 2] * 2
