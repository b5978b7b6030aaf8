"""`weft eval` without services: measures and readings made in this process."""

import json
from pathlib import Path
from typing import Any

import pytest

from weft.cli import main

NOISE = "The weather in Oslo is mild, with light rain in the evening and some wind at night. " * 40


def called(id: str, name: str, **arguments: str) -> dict[str, object]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id, "function": function}]}


def chat(order: str) -> list[dict[str, object]]:
    """Asks to pay an order; the agent finds it, looks at the weather, and pays."""
    return [
        {"role": "user", "content": f"Please pay order {order} by card."},
        called("c1", "find", order=order),
        {"role": "tool", "tool_call_id": "c1", "content": '{"payment": "visa_991"}'},
        called("c2", "weather", city="Oslo"),
        {"role": "tool", "tool_call_id": "c2", "content": NOISE},
        called("c3", "pay", order=order, payment="visa_991"),
    ]


@pytest.fixture
def runs(tmp_path: Path) -> str:
    file = tmp_path / "runs.json"
    file.write_text(json.dumps([{"messages": chat(f"ORD-{n}")} for n in (1001, 1002, 1003)]))
    return str(file)


def weft(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main.run(list(arguments))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def measured(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, Any]]:
    """By compiler."""
    code, out, err = weft(capsys, "eval", *arguments, "--offline", "--json")
    assert code == 0, err
    return {row["compiler"]: row for row in json.loads(out)}


def test_grounding_needs_no_services_and_shows_every_baseline(
    capsys: pytest.CaptureFixture[str], runs: str
) -> None:
    rows = measured(capsys, "grounding", runs, "--budget", "300")
    assert list(rows) == [
        "weft", "newest until full", "old results cleared", "BM25", "BM25 over passages",
    ]  # fmt: skip
    assert rows["old results cleared"]["in_prompt"] > rows["newest until full"]["in_prompt"]
    assert {row["values"] for row in rows.values()} == {9}


def test_stability_needs_no_services(capsys: pytest.CaptureFixture[str], runs: str) -> None:
    assert measured(capsys, "stability", runs, "--budget", "300")["weft"]["compiles"] == 3


def test_the_same_seed_makes_the_same_reading(
    capsys: pytest.CaptureFixture[str], runs: str, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        given = ("cases", str(tmp_path / name), runs, "--budget", "300", "--offline")
        code, out, err = weft(capsys, "eval", "reading", *given)
        assert (code, "3 of runs 300 tokens" in out) == (0, True), err
    one, two = ({file.name: file.read_bytes() for file in folder.iterdir()}
                for folder in (tmp_path / "one", tmp_path / "two"))  # fmt: skip
    assert one == two
    assert {"brief.txt", "gold.json", "cases_3.md", "key_3.json"} <= set(one)


def test_files_of_one_session_each_are_of_the_kind_of_their_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "support"
    folder.mkdir()
    for number in (1, 2):
        (folder / f"{number}.json").write_text(json.dumps(chat(f"ORD-{number}")))
    given = (*map(str, sorted(folder.iterdir())), "--budget", "300", "--offline", "--json")
    _, out, _ = weft(capsys, "eval", "reading", "cases", str(tmp_path / "out"), *given)
    assert json.loads(out)["cases"] == {"support 300": 2}


def test_sessions_in_the_log_need_services(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = ("cases", str(tmp_path / "out"), "--session", "s1", "--offline")
    code, _, err = weft(capsys, "eval", "reading", *given)
    assert (code, "--offline" in err) == (2, True)
